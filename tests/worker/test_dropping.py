"""Jobs that shall not run: too late, or cancelled."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest
import redis

from cogworker_django.api.cancelling import cancel
from cogworker_django.core import codec
from cogworker_django.core.config import HistoryConfig, StatusConfig
from cogworker_django.core.errors import JobCancelled
from cogworker_django.current import current_job
from cogworker_django.definition import job
from tests.worker.rigs import Rig, Rigs, until

RECORDED: dict[str, Any] = {"status": StatusConfig(), "history": HistoryConfig()}


def state(rig: Rig, jid: str) -> str | None:
    told = rig.store.statuses.get(jid)
    return None if told is None else told["status"]


def history(client: redis.Redis) -> list[tuple[str, str]]:
    entries: list[bytes] = client.lrange("t:history:all", 0, -1)  # type: ignore[assignment]  # sync
    return [(entry["jid"], entry["status"]) for entry in map(codec.decode, entries)]


def counts(client: redis.Redis) -> tuple[bytes | None, ...]:
    return client.get("t:stats:processed"), client.get("t:stats:failed")  # type: ignore[return-value]  # sync


def test_a_job_that_is_too_late_to_start_is_dropped_and_told_of(rigs: Rigs, redis_client: redis.Redis) -> None:
    seen = rigs.recording()
    rig = rigs(**RECORDED)
    late = rig.push("note", 1, expires_in=0.01, unique="until_executed")
    due = rig.push("note", 2, expires_in=60)
    time.sleep(0.03)
    rig.start()
    until(lambda: seen == [2])
    until(lambda: history(redis_client) and len(history(redis_client)) == 2)
    assert set(history(redis_client)) == {(late, "expired"), (due, "success")}
    assert state(rig, late) == "expired"
    assert redis_client.keys("t:unique:*") == []
    assert counts(redis_client) == (b"1", None), "it was no run"
    assert redis_client.llen("t:history:failed") == 0


def test_the_time_counts_from_when_the_job_is_due(rigs: Rigs, redis_client: redis.Redis) -> None:
    rig = rigs()
    rig.push("note", 1, at=time.time() + 100, expires_in=10)
    stored: Any = redis_client.zrange("t:schedule", 0, -1, withscores=True)
    [(raw, score)] = stored
    assert codec.decode(raw)["expires_at"] == pytest.approx(score + 10, abs=0.01)
    assert "expires_in" not in codec.decode(raw)


@pytest.mark.parametrize("name", ["timeout", "expires_in"])
@pytest.mark.parametrize(("value", "kind"), [(0, ValueError), (-1, ValueError), ("5", TypeError), (True, TypeError)])
def test_an_option_that_is_no_time_is_refused(rigs: Rigs, name: str, value: object, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=name):
        rigs().push("note", 1, **{name: value})


def test_cancelling_removes_a_job_that_waits(rigs: Rigs, redis_client: redis.Redis) -> None:
    rig = rigs(**RECORDED)
    queued = rig.push("note", 1, unique="until_executed")
    scheduled = rig.push("note", 2, at=time.time() + 100)
    for jid in (queued, scheduled):
        assert cancel(jid, rig.store)
        assert state(rig, jid) == "cancelled"
        assert not cancel(jid, rig.store), "it is gone"
    assert redis_client.llen("t:queue:default") == 0
    assert redis_client.zcard("t:schedule") == 0
    assert redis_client.keys("t:unique:*") == []


def obeying(rig: Rig) -> None:
    """Do what a launcher does with commands from afar."""
    for command in [rig.commands.pop(0) for _ in range(len(rig.commands))]:
        rig.worker.cancel(command.removeprefix("cancel "))


def test_cancelling_ends_a_coroutine_without_a_retry(rigs: Rigs, redis_client: redis.Redis) -> None:
    begun = threading.Event()

    @job(name="long")
    async def long() -> None:
        begun.set()
        await asyncio.sleep(30)

    rig = rigs(**RECORDED).start()
    jid = rig.push("long")
    assert begun.wait(5)
    assert cancel(jid, rig.store)
    rig.worker.heartbeat.beat()
    until(lambda: rig.commands)
    obeying(rig)
    until(lambda: state(rig, jid) == "cancelled")
    assert history(redis_client) == [(jid, "cancelled")]
    assert redis_client.zcard("t:retry") == 0
    assert counts(redis_client) == (None, None)


def test_a_function_sees_that_it_is_cancelled_and_may_end_by_itself(rigs: Rigs, redis_client: redis.Redis) -> None:
    begun = threading.Event()

    @job(name="watchful")
    def watchful() -> None:
        running = current_job()
        assert running is not None
        begun.set()
        while not running.cancelled:
            time.sleep(0.005)
        raise JobCancelled("half way")

    rig = rigs(**RECORDED).start()
    jid = rig.push("watchful")
    assert begun.wait(5)
    rig.worker.cancel("another")
    rig.worker.cancel(jid)
    until(lambda: state(rig, jid) == "cancelled")
    assert history(redis_client) == [(jid, "cancelled")]
    assert redis_client.zcard("t:retry") == 0


def test_a_job_that_was_fetched_and_has_not_started_never_does(rigs: Rigs, redis_client: redis.Redis) -> None:
    gate = threading.Event()

    @job(name="hold")
    def hold() -> None:
        assert gate.wait(10)

    seen = rigs.recording()
    rig = rigs(concurrency=1, **RECORDED)
    rig.start()
    rig.push("hold")
    until(lambda: rig.worker.work.busy == 1)
    rig.worker._cancellations.add("b" * 24)
    rig.push("note", 1, jid="b" * 24)
    rig.push("note", 2)
    gate.set()
    until(lambda: seen == [2])
    until(lambda: state(rig, "b" * 24) == "cancelled")


def test_a_stop_sends_a_coroutine_back_to_its_queue(rigs: Rigs, redis_client: redis.Redis) -> None:
    begun, tidied = threading.Event(), threading.Event()

    @job(name="long")
    async def long() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            tidied.set()

    rig = rigs(**RECORDED).start()
    jid = rig.push("long")
    assert begun.wait(5)
    rig.worker.close()
    rig.worker.interrupt()
    rig.worker.finish()
    rig._started = False
    assert tidied.is_set()
    queued: Any = redis_client.lrange("t:queue:default", 0, -1)
    [raw] = queued
    assert codec.decode(raw)["jid"] == jid
    assert redis_client.zcard("t:retry") == 0
    assert history(redis_client) == []
    rig.store.client.close()


@pytest.mark.parametrize("nonsense", [10**400, "soon", True, None, [1], -(10**400)])
def test_an_end_that_is_no_time_is_none(rigs: Rigs, redis_client: redis.Redis, nonsense: object) -> None:
    seen = rigs.recording()
    rig = rigs().start()
    item = {"class": "note", "args": [1], "jid": "c" * 24, "queue": "default", "expires_at": nonsense}
    redis_client.lpush("t:queue:default", json.dumps(item))
    until(lambda: seen == [1])
    until(lambda: not redis_client.exists(f"t:inprogress:{rig.identity}"))
