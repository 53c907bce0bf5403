"""Locks beside a verdict: only their owner disposes of them, and what is to be done with them is never forgotten."""

from __future__ import annotations

import pytest
import redis

from cogworker_django.store.settlement import Command, delete_if_owner, expire_if_owner
from cogworker_django.store.store import Store
from tests.stores import raw_job
from tests.trips import IN_PROGRESS, Traveller, verdict

LOCK, OWNER = "t:unique:1", "a" * 24


def settle(store: Store, client: redis.Redis, *beside: Command) -> str:
    client.hset(IN_PROGRESS, "1:default", raw_job())
    [result] = Traveller(store).go(0, verdicts=[verdict("1:default", beside=list(beside))]).results
    return result


def test_the_owner_releases_its_lock(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(LOCK, OWNER)
    assert settle(store, redis_client, delete_if_owner(LOCK, OWNER)) == "settled"
    assert not redis_client.exists(LOCK)


def test_a_lock_that_changed_hands_is_left_alone(store: Store, redis_client: redis.Redis) -> None:
    """Reference 17.3, L2."""
    redis_client.set(LOCK, "another", ex=1000)
    settle(store, redis_client, delete_if_owner(LOCK, OWNER), expire_if_owner(LOCK, OWNER, 5))
    assert redis_client.get(LOCK) == b"another"
    assert redis_client.ttl(LOCK) > 900


def test_the_owner_makes_its_lock_last_whole_seconds(store: Store, redis_client: redis.Redis) -> None:
    """Reference 17.3: rounded up."""
    redis_client.set(LOCK, OWNER)
    settle(store, redis_client, expire_if_owner(LOCK, OWNER, 99.2))
    assert 99 <= redis_client.ttl(LOCK) <= 100
    assert expire_if_owner(LOCK, OWNER, 99.2)[-1] == 100


def test_a_lock_that_has_lapsed_is_not_made_again(store: Store, redis_client: redis.Redis) -> None:
    settle(store, redis_client, expire_if_owner(LOCK, OWNER, 5), delete_if_owner(LOCK, OWNER))
    assert not redis_client.exists(LOCK)


@pytest.mark.parametrize("command", [delete_if_owner(LOCK, OWNER), expire_if_owner(LOCK, OWNER, 5)])
def test_a_lock_of_the_wrong_type_is_dropped_and_costs_nothing_else(
    command: Command, store: Store, redis_client: redis.Redis
) -> None:
    """Reference L3: the job is settled, and the commands behind it are run."""
    redis_client.rpush(LOCK, "no string")
    assert settle(store, redis_client, command, ["SET", "t:after", "1"]) == "settled"
    assert redis_client.exists(LOCK, "t:after") == 2


def test_who_no_longer_owns_the_job_releases_nothing(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(LOCK, OWNER)
    late = verdict("1:default", beside=[delete_if_owner(LOCK, OWNER)])
    assert Traveller(store).go(0, verdicts=[late]).results == ["gone"]
    assert redis_client.exists(LOCK)
