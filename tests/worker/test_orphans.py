"""What becomes of the jobs of processes that died, on whole workers (reference, section 10)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import ProcessDied, RedisRefused, RedisUnavailable
from cogworker_django.definition import Job
from cogworker_django.store.recovery import Recovered, Recovery
from tests.stores import raw_job
from tests.worker.rigs import Rig, Rigs, messages, until

THRESHOLD = 0.5


def leave(client: redis.Redis, identity: str, *raws: bytes, queue: str = "default") -> None:
    """What a process left behind that died long ago, while all of it ran."""
    client.hset(f"t:inprogress:{identity}", mapping={f"{n}:{queue}": raw for n, raw in enumerate(raws, start=1)})
    client.hset("t:beats", identity, f"1.0 {len(raws)} {len(raws)}")


def orphan(client: redis.Redis, name: str, jid: str = "0" * 24) -> None:
    """A job that has died with its process as often as it may, and now once more."""
    client.set(f"t:orphanings:{jid}", 3)
    leave(client, "gone:1:x", raw_job(jid, **{"class": name}, retry=5))


def rescuing(rigs: Rigs, **options: Any) -> Rig:
    return rigs(orphan_threshold=THRESHOLD, **options).start()


def test_who_is_orphaned_too_often_is_dead_and_its_hooks_are_called_once(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R36, R56: by one of two processes that find it at once."""
    told: list[tuple[str, Any, type, int]] = []

    class Doomed(Job, name="doomed", retry=5):
        def perform(self) -> None:
            raise AssertionError("it ran")

        def retries_exhausted(self, payload: dict[str, Any], exception: BaseException) -> None:
            told.append(("class", payload["jid"], type(exception), redis_client.zcard("t:dead")))

    def handler(payload: dict[str, Any], exception: BaseException) -> None:
        told.append(("handler", payload["error_class"], type(exception), redis_client.zcard("t:dead")))

    orphan(redis_client, "doomed")
    first, second = (rigs(orphan_threshold=THRESHOLD, handlers=[handler]) for _ in range(2))
    first.start()
    second.start()
    until(lambda: len(told) >= 2)
    until(lambda: first.settled() and second.settled())
    first.stop()
    second.stop()
    assert told == [("class", "0" * 24, ProcessDied, 1), ("handler", "ProcessDied", ProcessDied, 1)]
    [entry] = rigs().dead()
    assert (entry["error_class"], entry["retry"]) == ("ProcessDied", 5)
    assert redis_client.keys("t:orphanings:*") == []
    assert rigs().counts() == (0, 1)


def test_of_an_orphan_without_a_class_only_the_handlers_are_told(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R59. It is not said to have been requeued."""
    told: list[Any] = []
    orphan(redis_client, "gone.Job")
    rescuing(rigs, handlers=[lambda payload: told.append(payload["class"])])
    until(lambda: told)
    assert told == ["gone.Job"]
    assert not any("requeued" in line for line in messages(caplog))


def test_queues_that_nobody_reads_are_named_and_those_that_somebody_reads_are_not(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R21, R22."""
    rigs.recording()
    leave(redis_client, "a:1:x", raw_job(**{"class": "note"}), queue="nobodys")
    leave(redis_client, "b:1:x", raw_job("1" * 24, **{"class": "note"}), queue="others")
    leave(redis_client, "c:1:x", raw_job("2" * 24, **{"class": "note"}))
    rigs(queues=[("others", 1)]).worker.heartbeat.beat()
    rescuing(rigs)
    until(lambda: not redis_client.keys("t:inprogress:*"))
    until(lambda: any("no living process reads" in line for line in messages(caplog)))
    unread = [line for line in messages(caplog) if "no living process reads" in line]
    assert [line.rpartition(": ")[2] for line in unread] == ["nobodys"]


def test_it_is_told_how_many_came_back_and_how_many_could_not(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R23, R24, R55: they come back once they can."""
    seen = rigs.recording()
    redis_client.set("t:queue:broken", "no list")
    leave(
        redis_client, "a:1:x", *(raw_job(f"{n:024}", "broken", **{"class": "note"}) for n in range(2)), queue="broken"
    )
    leave(redis_client, "b:1:x", raw_job("b" * 24, **{"class": "note"}, args=["sound"]))
    rescuing(rigs, queues=[("default", 1), ("broken", 1)])
    until(lambda: seen == ["sound"])
    until(lambda: "2 jobs of the dead process a:1:x could not be put back" in messages(caplog, logging.ERROR))
    assert "requeued 1 jobs of the dead process b:1:x" in messages(caplog)
    redis_client.delete("t:queue:broken")
    until(lambda: len(seen) == 3)
    assert not redis_client.exists("t:inprogress:a:1:x")


def failing_for(error: Callable[[str], Exception | None]) -> Callable[[Recovery, str], Recovered | None]:
    """Recovery that meets an error with some processes, or only at first."""
    recover = Recovery.recover

    def recover_or_fail(recovery: Recovery, identity: str) -> Recovered | None:
        trouble = error(identity)
        if trouble is not None:
            raise trouble
        return recover(recovery, identity)

    return recover_or_fail


def test_a_process_that_cannot_be_recovered_stops_neither_the_others_nor_the_schedule(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference S8, S9."""

    def error(identity: str) -> Exception | None:
        return RedisRefused("no") if identity == "a:1:x" else None

    monkeypatch.setattr(Recovery, "recover", failing_for(error))
    seen = rigs.recording()
    leave(redis_client, "a:1:x", raw_job("a" * 24, **{"class": "note"}, args=["a"]))
    leave(redis_client, "b:1:x", raw_job("b" * 24, **{"class": "note"}, args=["b"]))
    redis_client.zadd("t:schedule", {raw_job("c" * 24, **{"class": "note"}, args=["c"]): 1})
    rescuing(rigs)
    until(lambda: sorted(seen) == ["b", "c"])
    assert any("the jobs of process a:1:x could not be recovered: no" in line for line in messages(caplog))
    assert redis_client.hlen("t:inprogress:a:1:x") == 1


def test_a_pass_that_lost_redis_is_made_again_by_itself_and_scans_all_keys_then(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reference S7, S10: what only the scan can find, since no registry names it, is found by the next pass."""
    lost: list[str] = []

    def scan_in_vain(recovery: Recovery) -> set[str]:
        if not lost:
            lost.append("once")
            raise RedisUnavailable("Redis is not available: cut off by the test")
        return scan(recovery)

    scan = Recovery.scan
    monkeypatch.setattr(Recovery, "scan", scan_in_vain)
    seen = rigs.recording()
    leave(redis_client, "a:1:x", raw_job(**{"class": "note"}, args=["found"]))
    redis_client.delete("t:beats")
    rescuing(rigs)
    until(lambda: seen == ["found"])
    assert lost == ["once"]


def test_a_process_never_asks_whether_it_is_dead_itself(rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference R29: its own jobs are not touched, however old its own beat may look to the server."""
    asked: list[str] = []

    def note(identity: str) -> None:
        asked.append(identity)

    monkeypatch.setattr(Recovery, "recover", failing_for(note))
    rig = rigs(orphan_threshold=0.1)
    monkeypatch.setattr(Recovery, "registered", lambda recovery: {rig.identity, "gone"})
    rig.start()
    until(lambda: len(asked) >= 3)
    assert set(asked) == {"gone"}


def test_building_a_worker_touches_no_server(rigs: Rigs) -> None:
    """Reference R43."""
    rig = rigs(url="redis://127.0.0.1:1/0")
    assert rig.faults.asked == 0
    assert not rig.worker.running
