"""Odd tokens, odd records and odd answers in every key that is not a queue or a set: work goes on, readers answer."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.test import override_settings

from cogworker_django.api.attempts import attempts_of
from cogworker_django.api.intake import Intake
from cogworker_django.api.jobsets import DeadSet, RetrySet, ScheduledSet
from cogworker_django.api.processes import ProcessSet, WorkSet
from cogworker_django.api.queue import Queue, QueueSet
from cogworker_django.api.stats import Stats, Throughput
from cogworker_django.store.statistics import hour_of
from cogworker_django.store.store import Store
from tests.hostile.corpus import CORPUS, VALUES
from tests.hostile.trial import GONE
from tests.stores import raw_job
from tests.worker.rigs import Rig, Rigs, messages, until

pytestmark = pytest.mark.slow

TOKENS = [
    *(b"", b":", b":default", b"default", b"1", b"1default", b"01:default", b"0:default", b"-1:default", b"+1:default"),
    *(b" 1:default", b"1 :default", b"1.0:default", b"1e3:default", b"0x1:default", b"\xef\xbc\x91:default"),
    *(b"\xff:default", b"1:\xff", b"9" * 18 + b"9:default", b"9" * 5_000 + b":default", b"\0:default", b"nan:default"),
]
"""None of them is as a process writes one, and some would be the number of a job."""
VALUES_OF_BYTES = [*VALUES, *CORPUS, b"1.0 1 1", b"1.0", b"1.2.3 1 1", b"nan 1 1", b"inf", b"1_0", b"wake", b"stop now"]


def ends_well(rig: Rig, seen: list[Any], jobs: int, caplog: pytest.LogCaptureFixture) -> None:
    """All sound jobs have run once, and no exception has come out of its thread's work."""
    until(lambda: len(seen) >= jobs and rig.settled())
    assert sorted(seen) == list(range(jobs))
    assert all(processor.thread.is_alive() for processor in rig.worker.processors)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def note(number: int) -> bytes:
    return raw_job(f"{number:024}", **{"class": "note"}, args=[number])


def test_a_dead_processes_jobs_come_back_past_all_fields_that_are_no_tokens(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Those stay where they are: no process has written them."""
    seen = rigs.recording()
    for number in range(100):
        redis_client.hset(f"t:inprogress:{GONE}", f"{number + 1}:default", note(number))
    for number, token in enumerate(TOKENS, start=100):
        redis_client.hset(f"t:inprogress:{GONE}", token, note(number))
    redis_client.hset("t:beats", GONE, "1.0 3 2")
    ends_well(rigs(orphan_threshold=0.3).start(), seen, 100, caplog)
    assert set(redis_client.hkeys(f"t:inprogress:{GONE}")) == set(TOKENS)


def test_a_process_takes_up_none_of_them_in_its_own_hash(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    seen = rigs.recording()
    rig = rigs(concurrency=1).start()
    for token in TOKENS:
        redis_client.hset(f"t:inprogress:{rig.identity}", token, note(1_000))
    redis_client.hset(f"t:inprogress:{rig.identity}", "1000:default", note(0))
    assert rig.worker.exchange.suspect()
    rig.push("note", 1)
    until(lambda: sorted(seen) == [0, 1])
    until(lambda: set(redis_client.hkeys(f"t:inprogress:{rig.identity}")) == set(TOKENS))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def odd_records() -> list[bytes]:
    """Records of failures that cannot be used, each for another reason."""
    sound: dict[str, Any] = {"set": "retry", "score": 1.5, "payload": "text"}
    encoded = json.dumps(sound).encode()
    odd = [encoded.replace(old, new) for old in (b'"retry"', b'"text"', b"1.5") for new in VALUES]
    usable = (b'""', b'"text"', b'"7"', b'"-7"', b'"\\u0000"', b'"\\u06f7"', b'"NaN"', b'"\\ud83d\\ude00"', VALUES[-1])
    times = (b"0", b"-1", b"1.5", b"-0.0", b"5e-324")
    good = {encoded.replace(b'"text"', value) for value in usable} | {encoded.replace(b"1.5", value) for value in times}
    missing = [json.dumps({name: sound[name] for name in sound if name != gone}).encode() for gone in sound]
    return [record for record in dict.fromkeys([*odd, *missing, *CORPUS]) if record not in good]


def test_records_that_cannot_be_used_are_set_aside_and_those_among_them_are_filed(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference 10.5."""
    seen, odd = rigs.recording(), odd_records()
    for number, record in enumerate(odd):
        filed = {"set": "retry", "score": 0, "payload": note(number).decode()}
        redis_client.rpush("t:unsettled", record, json.dumps(filed))
    ends_well(rigs().start(), seen, len(odd), caplog)
    assert redis_client.lrange("t:quarantine:unsettled:records", 0, -1) == odd
    assert len([line for line in messages(caplog) if "unusable record" in line]) == len(odd)
    assert not any("\n" in line or "\x1b" in line for line in messages(caplog))


def registry(client: redis.Redis, identity: str) -> None:
    """What processes tell about themselves, made of everything but that."""
    now = hour_of(float(client.time()[0]))
    for number, value in enumerate(VALUES_OF_BYTES):
        name = f"odd:{number}"
        client.hset("t:beats", name, value)
        client.set(f"t:process:{name}", b'{"queues":' + value + b',"busy":' + value + b"}")
        row = b'{"thread":' + value + b',"queue":' + value + b',"run_at":' + value + b',"payload":' + value + b"}"
        client.set(f"t:work:{name}", b"[" + row + b"," + value + b"]")
        client.hset("t:beats", value, b"1.0 1 1")
        client.sadd("t:queues", value)
        client.sadd("t:paused_queues", value)
        client.rpush("t:schedule_bell", value)
        client.rpush(f"t:signals:{identity}", value)
        client.rpush("t:job_attempts:x", value, b'{"attempt":' + value + b"}")
        client.mset({"t:careful:default": value, "t:orphaned": value, f"t:orphanings:{0:024}": value})
        client.mset({"t:stats:processed": value, "t:stats:failed": value})
        client.hset(f"t:throughput:{now}", mapping={"processed": value, "failed": value})
    client.sadd("t:queues", "default")


def test_work_and_recovery_go_on_whatever_the_other_keys_hold(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    seen = rigs.recording()
    rig = rigs(orphan_threshold=0.3)
    registry(redis_client, rig.identity)
    for number in range(100):
        redis_client.hset(f"t:inprogress:{GONE}", f"{number + 1}:default", note(number))
    redis_client.hset("t:beats", GONE, "1.0 3 2")
    rig.start()
    rig.push_many("note", [[number] for number in range(100, 200)])
    ends_well(rig, seen, 200, caplog)


def test_readers_answer_whatever_is_there(store: Store, redis_client: redis.Redis) -> None:
    registry(redis_client, "x")
    number = len(set(VALUES_OF_BYTES))
    for name in ("schedule", "retry", "dead"):
        redis_client.zadd(f"t:{name}", dict.fromkeys(VALUES_OF_BYTES, 0.5) | {b"low": -math.inf, b"high": math.inf})
    redis_client.lpush("t:queue:default", *VALUES_OF_BYTES)
    states = {state.name: state.size for state in QueueSet(store)}
    assert states["default"] == len(VALUES_OF_BYTES)
    for queue in (Queue("default", store).page(0, -1), list(Queue("default", store))):
        assert len([(job.klass, job.args, job.kwargs, job.queue, job.jid) for job in queue]) == len(VALUES_OF_BYTES)
    for jobs in (ScheduledSet(store), RetrySet(store), DeadSet(store)):
        assert jobs.size == len(jobs.page(0, -1)) == number + 2
        assert len([(entry.at, entry.klass, entry.jid, entry.item) for entry in jobs]) == number + 2
        assert jobs.find("unknown") is None
    identities = [process.identity for process in ProcessSet(store)]
    assert len(identities) == len(VALUES_OF_BYTES)
    assert {identity for identity, _, _ in WorkSet(store)} <= set(identities)
    assert attempts_of("x", store) == []
    assert not Queue("default", store).paused
    assert not Intake(store).paused


def test_numbers_are_read_whatever_is_in_their_place(store: Store, redis_client: redis.Redis) -> None:
    now = hour_of(redis_client.time()[0])
    redis_client.sadd("t:queues", "default")
    for value in VALUES_OF_BYTES:
        redis_client.mset({"t:stats:processed": value, "t:stats:failed": value})
        redis_client.hset(f"t:throughput:{now}", mapping={"processed": value, "failed": value})
        redis_client.delete("t:queue:default")
        redis_client.lpush("t:queue:default", b'{"enqueued_at":' + value + b',"created_at":' + value + b"}", value)
        stats, hour, queue = Stats(store), Throughput.series(store=store)[-1], Queue("default", store)
        numbers = [stats.processed, stats.failed, hour.processed, hour.failed, stats.enqueued, queue.size]
        assert [type(number) for number in numbers] == [int] * len(numbers)
        assert 0.0 <= queue.latency < math.inf
        assert (stats.enqueued, queue.size) == (2, 2)


def test_the_status_command_shows_whatever_is_there(redis_url: str, redis_client: redis.Redis) -> None:
    registry(redis_client, "x")
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "t:"}):
        for words in ((), ("--json",)):
            out = io.StringIO()
            call_command("cogworker_status", *words, stdout=out)
            assert "odd:0" in out.getvalue()
            assert "\x1b" not in out.getvalue()
