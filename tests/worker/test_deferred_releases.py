"""A lock release that Redis was not there for: it waits with the verdict of its job (reference, 17.3)."""

from __future__ import annotations

import redis

from cogworker_django.store.settlement import delete_if_owner
from tests.stores import raw_job
from tests.trips import verdict
from tests.worker.rigs import Rig, Rigs, until

LOCK, OWNER = "t:unique:1", "a" * 24


def finish_with_a_lock(rig: Rig, client: redis.Redis) -> None:
    """A job of the worker has ended, and its lock is to go."""
    client.set(LOCK, OWNER)
    client.hset(f"t:inprogress:{rig.identity}", "9:default", raw_job(OWNER))
    rig.worker._handout.settle(verdict("9:default", jid=OWNER, beside=[delete_if_owner(LOCK, OWNER)]))


def test_a_release_that_failed_goes_through_when_redis_is_back_and_fails_no_beat(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Reference L1, L4."""
    rig = rigs().start()
    rig.faults.away = True
    finish_with_a_lock(rig, redis_client)
    until(lambda: rig.worker.exchange.resting > 0)
    assert rig.worker.heartbeat.beat()
    assert redis_client.exists(LOCK)
    rig.faults.away = False
    until(lambda: not redis_client.exists(LOCK))
    until(rig.settled)


def test_a_late_release_leaves_the_lock_of_a_newer_owner(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference L2."""
    rig = rigs().start()
    rig.faults.away = True
    finish_with_a_lock(rig, redis_client)
    until(lambda: rig.worker.exchange.resting > 0)
    redis_client.set(LOCK, "another")
    rig.faults.away = False
    until(rig.settled)
    assert redis_client.get(LOCK) == b"another"


def test_the_stop_tries_once_more(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference L5."""
    rig = rigs().start()
    rig.faults.away = True
    finish_with_a_lock(rig, redis_client)
    until(lambda: rig.worker.exchange.resting > 0)
    rig.stop()
    assert not redis_client.exists(LOCK, f"t:inprogress:{rig.identity}")
