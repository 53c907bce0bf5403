from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from django.test import override_settings

from cogworker_django.store.store import Store
from tests.stores import raw_job
from tests.support import finished, manage


@pytest.fixture(autouse=True)
def settings(redis_url: str) -> Iterator[None]:
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "t:"}):
        yield


def said(*words: str) -> str:
    out = io.StringIO()
    call_command("cogworker_status", *words, stdout=out)
    return out.getvalue()


def beat(store: Store, identity: str, **info: Any) -> None:
    store.processes.beat(identity, progress="0 10", info=json.dumps(info).encode(), read_commands=False)


def fill(store: Store, client: redis.Redis) -> None:
    now = store.jobsets.now()
    client.lpush("t:queue:high", raw_job(enqueued_at=now - 12), raw_job(enqueued_at=now))
    client.sadd("t:queues", "high", "low")
    client.sadd("t:paused_queues", "low")
    client.mset({"t:stats:processed": 100, "t:stats:failed": 7})
    client.zadd("t:retry", {"x": 1})
    info = {"busy": 3, "quiet": False, "concurrency": 10, "rss_kb": 45_056, "queues": [["high", 3], ["new", 1]]}
    beat(store, "host:1:abc", **info)
    beat(store, "host:2:abc", quiet=True)


def test_an_empty_installation_says_so() -> None:
    assert said().splitlines() == [
        "No process is running.",
        "",
        "No queue has had a job yet.",
        "",
        "SCHEDULED  RETRYING  DEAD  PROCESSED  FAILED",
        "0          0         0     0          0",
    ]


def test_processes_queues_sets_and_totals_are_laid_out_in_tables(store: Store, redis_client: redis.Redis) -> None:
    fill(store, redis_client)
    lines = [" ".join(line.split()) for line in said().splitlines()]
    assert lines[:3] == [
        "PROCESS BUSY STATE MEMORY QUEUES",
        "host:1:abc 3/10 working 44 MiB high,3 new",
        "host:2:abc 0/? quiet ? ?",
    ]
    assert lines[4] == "QUEUE SIZE LATENCY STATE"
    assert lines[5].startswith("high 2 1") and lines[5].endswith(" s")
    assert lines[6:8] == ["low 0 0.0 s paused", "new 0 0.0 s"]
    assert lines[-1] == "0 1 0 100 7"


def test_json_has_everything_as_plain_values(store: Store, redis_client: redis.Redis) -> None:
    fill(store, redis_client)
    status = json.loads(said("--json"))
    totals = {name: status[name] for name in ("processed", "failed", "enqueued", "retry_size", "dead_size")}
    assert totals == {"processed": 100, "failed": 7, "enqueued": 2, "retry_size": 1, "dead_size": 0}
    assert status["scheduled_size"] == 0
    assert status["intake_paused"] is False
    assert [(queue["name"], queue["size"], queue["paused"]) for queue in status["queues"]] == [
        ("high", 2, False),
        ("low", 0, True),
        ("new", 0, False),
    ]
    assert status["queues"][0]["latency"] == pytest.approx(12, abs=5)
    first, second = status["processes"]
    assert (first["identity"], first["busy"], first["queues"]) == ("host:1:abc", 3, [["high", 3], ["new", 1]])
    assert (second["busy"], second["quiet"]) == (0, True)


def test_paused_intake_is_told_first(redis_client: redis.Redis) -> None:
    redis_client.sadd("t:paused_queues", "*")
    assert said().startswith("Intake is paused: no process fetches any job.\n")
    assert json.loads(said("--json"))["intake_paused"] is True


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["tables", "json"])
def test_damage_in_redis_is_no_reason_to_show_nothing(redis_client: redis.Redis, words: tuple[str, ...]) -> None:
    redis_client.sadd("t:queues", "broken", "a\x1b[31m\nb" + "x" * 500, b"\xff")
    redis_client.set("t:queue:broken", "no list")
    redis_client.set("t:schedule", "no set")
    redis_client.hset("t:beats", mapping={"a": "no stamp", "b\nc": "5 0 10"})
    redis_client.set("t:process:a", "not json")
    redis_client.set("t:process:b\nc", '{"busy":"x","rss_kb":"y","queues":[5,[1],["q",2]]}')
    text = said(*words)
    assert "broken" in text
    assert "\x1b" not in text


def test_without_redis_there_is_one_sentence_and_exit_code_1() -> None:
    code, out, err = finished(manage("cogworker_status", REDIS_URL="redis://:secret@127.0.0.1:1/0"))
    assert (code, out) == (1, "")
    assert err.startswith("CommandError: Redis is not available:")
    assert err.count("\n") == 1
    assert "secret" not in err


def test_faulty_settings_are_told_without_a_traceback() -> None:
    with override_settings(COGWORKER={"QUEUES": []}), pytest.raises(CommandError, match="QUEUES"):
        call_command("cogworker_status")


def test_a_queue_name_that_the_terminal_cannot_show_is_escaped(redis_client: redis.Redis, redis_url: str) -> None:
    redis_client.sadd("cogworker:queues", "中文")
    process = manage("cogworker_status", REDIS_URL=redis_url, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    code, out, err = finished(process)
    assert (code, err) == (0, "")
    assert "\\u4e2d\\u6587" in out
