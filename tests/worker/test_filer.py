"""Filing what other processes could not file before their end."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import JobFailedError, RedisRefused
from cogworker_django.definition import Job
from cogworker_django.store.settlement import Filing
from cogworker_django.store.unsettled import record_of
from cogworker_django.worker.filer import Filer
from tests.stores import jids, raw_job
from tests.worker.rigs import Rig, Rigs, messages

UNSETTLED = "t:unsettled"


def filer(rig: Rig) -> Filer:
    return Filer(rig.store.unsettled, rig.worker._deaths, rig.worker._handout.add_chore)


def record(where: str, **fields: Any) -> bytes:
    return record_of(Filing(set=where, score=1_900_000_000.0, entry=raw_job(**fields)))


def hooks_of(rig: Rig) -> int:
    """Runs the hooks that were handed to the threads; how many there were."""
    chores = rig.worker._handout.leftover()
    for chore in chores:
        chore()
    return len(chores)


def test_bad_records_are_set_aside_and_those_behind_are_filed(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R51."""
    redis_client.rpush(UNSETTLED, b"no\nrecord", record("retry"), b"{}", record("dead", jid="b" * 24))
    redis_client.set(f"t:orphanings:{'b' * 24}", 1)
    rig = rigs()
    filer(rig).look()
    assert (len(rig.retries()), len(rig.dead()), redis_client.exists(UNSETTLED)) == (1, 1, 0)
    assert redis_client.lrange("t:quarantine:unsettled:records", 0, -1) == [b"no\nrecord", b"{}"]
    assert redis_client.keys("t:orphanings:*") == []
    told = [line for line in messages(caplog) if "set aside" in line]
    assert len(told) == 2
    assert all("\n" not in line for line in told)
    assert sum("for a process that could not" in line for line in messages(caplog)) == 2


def test_the_death_of_a_job_filed_later_is_told_with_the_stored_message(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R58, R63, D6: once over repeated passes; the original class is in the entry's field."""
    told: list[Any] = []

    class Frail(Job, name="frail"):
        def perform(self) -> None: ...

        def retries_exhausted(self, payload: dict[str, Any], exception: BaseException) -> None:
            told.append((payload["error_class"], type(exception), str(exception)))

    fields = {"class": "frail", "error_class": "ValueError", "error_message": "it broke"}
    redis_client.rpush(UNSETTLED, record_of(Filing(set="dead", score=5.0, entry=json.dumps(_job(fields)).encode())))
    rig = rigs(handlers=[lambda payload, error: told.append(("handler", type(error), str(error)))])
    filer(rig).look()
    assert hooks_of(rig) == 1
    assert told == [("ValueError", JobFailedError, "it broke"), ("handler", JobFailedError, "it broke")]
    filer(rig).look()
    assert hooks_of(rig) == 0


def _job(fields: dict[str, Any]) -> dict[str, Any]:
    job: dict[str, Any] = json.loads(raw_job())
    return job | fields


def test_nobody_is_told_of_a_retry(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R58."""
    redis_client.rpush(UNSETTLED, record("retry"))
    rig = rigs(handlers=[print])
    filer(rig).look()
    assert hooks_of(rig) == 0


def test_bytes_that_are_no_job_are_filed_without_hooks(rigs: Rigs, redis_client: redis.Redis) -> None:
    redis_client.rpush(UNSETTLED, json.dumps({"set": "dead", "score": 1, "payload": "no job"}))
    rig = rigs(handlers=[print])
    filer(rig).look()
    assert rig.raw("dead") == [b"no job"]
    assert hooks_of(rig) == 0


def test_a_record_that_cannot_be_filed_holds_back_those_behind_it_and_is_not_lost(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Reference 10.5: the first that cannot be filed ends the pass."""
    waiting = [record("dead"), record("retry", jid="b" * 24)]
    redis_client.rpush(UNSETTLED, *waiting)
    redis_client.set("t:dead", "no set")
    rig = rigs(handlers=[print])
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        filer(rig).look()
    assert redis_client.lrange(UNSETTLED, 0, -1) == waiting
    assert hooks_of(rig) == 0
    redis_client.delete("t:dead")
    filer(rig).look()
    assert len(rig.dead()) == hooks_of(rig) == 1
    assert jids(rig.raw("retry")) == ["b" * 24]
