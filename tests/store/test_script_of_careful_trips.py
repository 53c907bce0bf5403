"""What the script of a trip promises while recovered jobs are about: each test fails for a small slip in the Lua."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from cogworker_django.store.store import Store
from tests.trips import Traveller


@pytest.fixture
def process(store: Store) -> Traveller:
    return Traveller(store)


def push(client: redis.Redis, queue: str, *jobs: str) -> None:
    """Put jobs on a queue; the first runs first."""
    client.lpush(f"t:queue:{queue}", *jobs)


@pytest.mark.parametrize(
    ("care", "waiting", "fetched"),
    [("1", 1, 1), ("1", 2, 2), ("5", 0, 1), ("5", 9, 3), ("0", 1, 3), ("-1", 1, 3), ("text", 1, 3), (None, 1, 3)],
)
def test_with_recovered_jobs_about_no_more_is_fetched_than_threads_wait(
    care: str | None, waiting: int, fetched: int, process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set("t:orphaned", "1")
    if care is not None:
        redis_client.set("t:careful:b", care)
    push(redis_client, "a", "1", "2", "3")
    push(redis_client, "b", "4", "5", "6")
    assert len(process.fetch(3, ("b", 3), ("a", 3), waiting=waiting)) == fetched


def test_without_the_mark_that_jobs_were_recovered_nobody_is_careful(
    process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set("t:careful:default", "5")
    push(redis_client, "default", "1", "2")
    assert len(process.fetch(2, waiting=1)) == 2
    assert redis_client.get("t:careful:default") == b"5"


def test_the_count_of_care_goes_down_with_what_is_fetched_and_goes_at_the_end(
    process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set("t:orphaned", "1")
    redis_client.set("t:careful:default", "4", ex=100)
    push(redis_client, "default", "1", "2", "3", "4", "5")
    seen: list[Any] = []
    for wanted in (1, 2, 1):
        process.fetch(wanted, waiting=wanted)
        seen.append(redis_client.get("t:careful:default"))
    assert seen == [b"3", b"1", None]


def test_a_full_trip_of_recovered_jobs_leaves_the_bells_to_others(
    process: Traveller, redis_client: redis.Redis
) -> None:
    """It wanted fewer than it asked for at first; what is left must wake the next one."""
    redis_client.set("t:orphaned", "1")
    redis_client.set("t:careful:default", "5")
    redis_client.rpush("t:bell:default", "1")
    push(redis_client, "default", "1", "2", "3")
    landing = process.go(3, waiting=1)
    assert (landing.dry, landing.orphaned) == (False, True)
    assert redis_client.exists("t:bell:default")


def test_a_count_of_care_of_the_wrong_type_is_none_and_goes(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.set("t:orphaned", "1")
    redis_client.rpush("t:careful:default", "no count")
    push(redis_client, "default", "1", "2")
    assert len(process.fetch(2, waiting=1)) == 2
    assert not redis_client.exists("t:careful:default")
