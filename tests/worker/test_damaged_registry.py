"""A registry of processes that cannot be read (reference S13, E9): work and recovery go on."""

from __future__ import annotations

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.recovery import Recovery
from tests.worker.rigs import Rigs, messages, until


def test_a_dead_processes_jobs_come_back_although_nobody_is_registered(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    held = rigs.holding()
    victim = rigs(concurrency=1, orphan_threshold=0.5).start()
    victim.push("hold")
    until(lambda: held.started == 1)
    redis_client.delete("t:beats")
    redis_client.set("t:beats", "no hash")
    victim.kill()
    other = rigs(concurrency=1, orphan_threshold=0.5).start()
    until(lambda: held.started == 2)
    assert any("key t:beats was a string instead of a hash" in line for line in messages(caplog))
    held.let_go()
    until(other.settled)
    other.stop()
    assert redis_client.keys("t:*process:*") == []


def test_a_process_that_lives_keeps_its_jobs_whatever_has_become_of_the_registry(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    held = rigs.holding()
    busy = rigs(concurrency=1, orphan_threshold=3.0).start()
    busy.push("hold")
    until(lambda: held.started == 1)
    redis_client.delete("t:beats")
    redis_client.set("t:beats", "no hash")
    idle = rigs(concurrency=1, orphan_threshold=3.0)
    assert idle.worker.heartbeat.beat()
    for _ in range(3):
        assert idle.store.recovery.recover(busy.identity) is None
    assert (held.started, busy.held()) == (1, 1)


def test_one_that_died_just_after_the_registry_was_lost_is_found_when_its_presence_has_expired(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """It is registered nowhere, and at the other's boot it still looked alive."""
    seen = rigs.recording()
    rig = rigs(orphan_threshold=0.5)
    rig.push("note", 1)
    [raw] = redis_client.lrange("t:queue:default", 0, -1)
    redis_client.delete("t:queue:default")
    redis_client.hset("t:inprogress:gone:1:x", "1:default", raw)
    redis_client.set("t:process:gone:1:x", "{}", px=700)
    rig.start()
    until(lambda: seen == [1] and rig.settled())


def test_a_damaged_hash_of_one_that_is_registered_nowhere_is_moved_away(rigs: Rigs, redis_client: redis.Redis) -> None:
    """The look at boot that meets it has it registered, and so the guard sees it."""
    redis_client.set("t:inprogress:gone:1:x", "no hash")
    rigs(orphan_threshold=0.3).start()
    until(lambda: not redis_client.exists("t:inprogress:gone:1:x"))
    until(lambda: not redis_client.hexists("t:beats", "gone:1:x"))
    assert len(redis_client.keys("t:quarantine:inprogress:gone:1:x:*")) == 1


def test_while_nobody_can_be_registered_the_look_is_repeated(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full server, for example."""
    tries: list[str] = []

    def refused(_recovery: Recovery, identity: str) -> None:
        tries.append(identity)
        raise RedisRefused("Redis refused a command: OOM")

    monkeypatch.setattr(Recovery, "register", refused)
    redis_client.hset("t:inprogress:gone:1:x", "1:default", "job")
    redis_client.set("t:process:gone:1:x", "{}")
    rigs(orphan_threshold=0.1).start()
    until(lambda: tries == ["gone:1:x"] * 3)


def test_one_whose_jobs_could_not_all_be_put_back_is_looked_at_again(rigs: Rigs, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:other", "no list")
    redis_client.hset("t:inprogress:gone:1:x", "1:other", "job")
    rigs(orphan_threshold=0.2).start()
    until(lambda: redis_client.hexists("t:beats", "gone:1:x"))
    redis_client.delete("t:queue:other")
    until(lambda: redis_client.lrange("t:queue:other", 0, -1) == [b"job"])


def test_a_beat_that_came_meanwhile_stays(rigs: Rigs, redis_client: redis.Redis) -> None:
    redis_client.hset("t:beats", "busy:1:x", "5.0 7 3")
    rigs().store.recovery.register("busy:1:x")
    assert redis_client.hgetall("t:beats") == {b"busy:1:x": b"5.0 7 3"}
