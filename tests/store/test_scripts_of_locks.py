"""What the scripts promise about the locks and the records that go with jobs, to the letter."""

from __future__ import annotations

from typing import Any, cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store
from tests.lasting import lasting

QUEUE, BELL, QUEUES, SET, OTHER, NOTHING = "t:queue:q", "t:bell:q", "t:queues", "t:retry", "t:dead", "t:nothing"
HOUR = 3600
DIGESTS = ("0" * 32, "1" * 32)
ATTEMPTS, STATUSES = "t:job_attempts:", "t:status:"


def lock(number: int = 0) -> str:
    return f"t:unique:{DIGESTS[number]}"


def push(store: Store, *jobs: tuple[str, str, str, str], lock_ttl: float = HOUR) -> Any:
    """Jobs as raw, id, digest and status."""
    words = [word for each in jobs for word in each]
    return store.gateway.run("push", (QUEUE, BELL, QUEUES), ("q", "t:", lock_ttl, 60_000, 4, *words))


def schedule(store: Store, *jobs: tuple[str, str, str, str], kind: str = "at", seconds: float | str = 5) -> Any:
    words = [word for each in jobs for word in (kind, seconds, *each)]
    return store.gateway.run("schedule", (SET, BELL), ("t:", HOUR, 60_000, *words))


def reschedule(store: Store, source: str, target: str, seconds: float, jid: str, digest: str) -> Any:
    args = ("a", "at", seconds, "t:", jid, digest, HOUR)
    return store.gateway.run("reschedule", (source, target, BELL, NOTHING), args)


def keys(client: redis.Redis, pattern: str) -> set[bytes]:
    return set(cast(list[bytes], client.keys(pattern)))


# New jobs


@pytest.mark.parametrize("bring", [push, schedule])
def test_each_status_is_written_with_its_job_and_none_for_a_job_without(
    bring: Any, store: Store, redis_client: redis.Redis
) -> None:
    jobs = [("a", "j", "", "queued"), ("b", "k", "", ""), ("c", "l", DIGESTS[0], "new"), ("d", "m", DIGESTS[0], "no")]
    with lasting(redis_client, STATUSES + "j", 60), lasting(redis_client, STATUSES + "l", 60):
        assert bring(store, *jobs) == [3]
    assert keys(redis_client, STATUSES + "*") == {b"t:status:j", b"t:status:l"}
    assert redis_client.mget(STATUSES + "j", STATUSES + "l") == [b"queued", b"new"]


@pytest.mark.parametrize(("lock_ttl", "seconds"), [(HOUR, HOUR), (0.2, 1)])
def test_the_lock_of_a_pushed_job_lasts_whole_seconds_from_now_on(
    lock_ttl: float, seconds: int, store: Store, redis_client: redis.Redis
) -> None:
    with lasting(redis_client, lock(), seconds):
        assert push(store, ("a", "j", DIGESTS[0], ""), lock_ttl=lock_ttl) == []


@pytest.mark.parametrize(("kind", "seconds", "lasts"), [("at", 5, HOUR), ("in", -9, HOUR), ("in", 90, HOUR + 90)])
def test_the_lock_of_a_scheduled_job_lasts_from_the_due_time_on_and_not_less(
    kind: str, seconds: float, lasts: float, store: Store, redis_client: redis.Redis
) -> None:
    with lasting(redis_client, lock(), lasts):
        assert schedule(store, ("a", "j", DIGESTS[0], ""), kind=kind, seconds=seconds) == []


def test_when_the_schedule_refuses_a_job_the_locks_of_its_batch_are_given_up(
    store: Store, redis_client: redis.Redis
) -> None:
    with pytest.raises(RedisRefused, match="float"):
        schedule(store, ("a", "j", DIGESTS[0], "queued"), ("b", "k", DIGESTS[1], "queued"), seconds="nan")
    assert keys(redis_client, "*") == set()


def test_jobs_that_bring_something_along_list_their_queue_and_ring_for_each(
    store: Store, redis_client: redis.Redis
) -> None:
    assert push(store, ("a", "j", DIGESTS[0], ""), ("b", "k", DIGESTS[0], ""), ("c", "l", "", "queued")) == [1]
    assert redis_client.lrange(QUEUE, 0, -1) == [b"c", b"a"]
    assert redis_client.smembers(QUEUES) == {b"q"}
    assert redis_client.llen(BELL) == 2


@pytest.mark.parametrize("damaged", [QUEUES, BELL])
def test_damage_beside_stops_no_job_that_brings_something_along(
    damaged: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set(damaged, "damaged")
    assert push(store, ("a", "j", DIGESTS[0], "queued")) == []
    assert redis_client.mget(lock(), STATUSES + "j") == [b"j", b"queued"]


# Deleted from a queue


@pytest.mark.parametrize("digest", ["", DIGESTS[0]])
def test_a_deleted_job_takes_along_what_is_its_own(digest: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "a", "b", "a")
    redis_client.mset(
        {lock(): "j", lock(1): "j", **{f"{kind}{jid}": 1 for kind in (ATTEMPTS, STATUSES) for jid in "jk"}}
    )
    assert store.gateway.run("delete_job", (QUEUE,), ("t:", "a", "j", digest)) == 1
    assert redis_client.lrange(QUEUE, 0, -1) == [b"b", b"a"]
    kept = {f"{ATTEMPTS}k", f"{STATUSES}k", lock(1), QUEUE} | (set() if digest else {lock()})
    assert keys(redis_client, "*") == {key.encode() for key in kept}


def test_a_deleted_job_without_an_id_takes_nothing_along(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "a", "b")
    redis_client.mset({ATTEMPTS: 1, STATUSES: 1})
    assert store.gateway.run("delete_job", (QUEUE,), ("t:", "a", "", "")) == 1
    assert keys(redis_client, "*") == {QUEUE.encode(), ATTEMPTS.encode(), STATUSES.encode()}


def test_of_a_job_that_has_left_its_queue_nothing_is_deleted(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "b")
    redis_client.mset({ATTEMPTS + "j": 1, STATUSES + "j": 1, lock(): "j"})
    assert store.gateway.run("delete_job", (QUEUE,), ("t:", "a", "j", DIGESTS[0])) == 0
    assert len(keys(redis_client, "*")) == 4


# Another due time


def test_rescheduling_takes_no_lock_for_a_job_without_one(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1})
    assert reschedule(store, SET, SET, 5, "j", "") == b"moved"
    assert keys(redis_client, "t:unique:*") == set()


def test_a_dead_job_that_still_holds_its_lock_is_rescheduled(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(OTHER, {"a": 1})
    redis_client.set(lock(), "j")
    assert reschedule(store, OTHER, SET, 5, "j", DIGESTS[0]) == b"moved"
    assert redis_client.zscore(SET, "a") == 5
    assert redis_client.get(lock()) == b"j"


def test_rescheduled_into_the_past_its_lock_lasts_from_now_on(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1})
    with lasting(redis_client, lock(), HOUR):
        assert reschedule(store, SET, SET, 5, "j", DIGESTS[0]) == b"moved"
