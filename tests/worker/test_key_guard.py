"""Damaged keys under a worker: it carries on with fresh ones, and loses nothing that it knows."""

from __future__ import annotations

import json

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.guard import MOST_COPIES, Damage, Guard
from cogworker_django.worker.key_guard import KeyGuard
from tests.stores import queued, raw_job
from tests.worker.rigs import Rigs, foreign, messages, until
from tests.worker.test_processor import failing


def test_each_damaged_key_is_one_line_in_the_log(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set("t:queue:default", "no list")
    redis_client.set("t:dead", "no set")
    KeyGuard(rigs().store.guard, ["default"], print).look()
    first, second = sorted(messages(caplog))
    assert first.startswith("key t:dead was a string instead of a zset: it was moved to t:quarantine:dead:")
    assert second.startswith("key t:queue:default was a string instead of a list")


def test_a_look_that_moves_a_key_leaves_the_newest_copies(rigs: Rigs, redis_client: redis.Redis) -> None:
    for number in range(10):
        redis_client.set(f"t:quarantine:dead:{number}:0123456{number}", "an older one")
    guard = KeyGuard(rigs().store.guard, [], lambda _: None)
    guard.look()
    assert len(redis_client.keys("t:quarantine:dead:*")) == 10
    redis_client.set("t:dead", "no set")
    guard.look()
    assert len(redis_client.keys("t:quarantine:dead:*")) == MOST_COPIES


def test_one_that_cannot_be_moved_does_not_stop_the_others(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    moved = Guard.quarantine

    def refused(guard: Guard, key: str, expected: str) -> Damage | None:
        if key == "t:retry":
            raise RedisRefused("Redis refused a command: NOPERM")
        return moved(guard, key, expected)

    monkeypatch.setattr(Guard, "quarantine", refused)
    redis_client.set("t:retry", "no set")
    redis_client.set("t:dead", "no set")
    KeyGuard(rigs().store.guard, [], print).look()
    assert redis_client.exists("t:retry")
    assert not redis_client.exists("t:dead")
    assert any("t:retry could not be moved away" in line for line in messages(caplog))


def test_a_queue_that_was_overwritten_is_served_again_by_itself(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference G3."""
    seen = rigs.recording()
    redis_client.set("t:queue:default", "no list")
    rig = rigs(orphan_threshold=0.3).start()
    until(lambda: not redis_client.exists("t:queue:default"))
    rig.push("note", 1)
    until(lambda: seen == [1] and rig.settled())


def test_an_overwritten_in_progress_hash_loses_no_job_and_repeats_none(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """What runs is settled, what has failed is filed, and fetching goes on."""
    seen = rigs.recording()
    failing()
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    rig.push("hold")
    until(lambda: held.started)
    redis_client.delete(f"t:inprogress:{rig.identity}")
    redis_client.set(f"t:inprogress:{rig.identity}", "no hash")
    rig.push("fail")
    rig.push_many("note", [(n,) for n in range(20)])
    until(lambda: sorted(seen) == list(range(20)))
    held.let_go()
    until(rig.settled)
    until(lambda: rig.counts() == (21, 1))
    assert len(rig.retries()) == 1
    assert len(held.runs) == 1
    assert any("in-progress hash was a string" in line for line in messages(caplog))


def test_a_dead_process_s_overwritten_hash_is_moved_away(rigs: Rigs, redis_client: redis.Redis) -> None:
    redis_client.set("t:inprogress:gone:1:x", raw_job())
    redis_client.hset("t:beats", "gone:1:x", "1.0 1 1")
    rigs(orphan_threshold=0.3).start()
    until(lambda: not redis_client.exists("t:inprogress:gone:1:x"))
    until(lambda: not redis_client.hexists("t:beats", "gone:1:x"))


def test_who_died_before_the_registry_was_damaged_is_found_all_the_same(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Its presence has not expired yet when the registry begins anew."""
    seen = rigs.recording()
    rig = rigs(orphan_threshold=0.4).start()
    until(lambda: rig.worker._rescuer._scanned)
    redis_client.hset("t:inprogress:gone:1:x", "1:default", foreign("note", 1))
    redis_client.set("t:process:gone:1:x", "{}", px=600)
    redis_client.delete("t:beats")
    redis_client.set("t:beats", "no hash")
    until(lambda: seen == [1] and rig.settled())


def test_a_stop_puts_back_what_was_in_an_overwritten_hash(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Nobody else knows the jobs any more."""
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    until(rig.looked)
    jids = {rig.push("hold"), rig.push("hold")}
    until(lambda: held.started == 2)
    redis_client.delete(f"t:inprogress:{rig.identity}")
    redis_client.set(f"t:inprogress:{rig.identity}", "no hash")
    rig.worker.close()
    rig.worker.finish()
    assert {json.loads(raw)["jid"] for raw in queued(redis_client)} == jids
    held.let_go()


def test_a_damaged_bell_holds_up_neither_the_trips_nor_the_log(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """It refuses the wait at all bells; until the guard's next look jobs are found by looking."""
    seen = rigs.recording()
    rig = rigs(fetch_idle_max_interval=0.05).start()
    until(lambda: rig.idle() and rig.looked())
    redis_client.set("t:schedule_bell", "no list")
    for number in range(5):
        rig.push("note", number)
        until(lambda number=number: len(seen) > number and rig.settled())  # type: ignore[misc]
    until(lambda: any("waiting for jobs failed" in line for line in messages(caplog)))
    assert len([line for line in messages(caplog) if "waiting for jobs failed" in line]) == 1
