"""Finding a job wherever it is."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import redis

from cogworker_django.api.whereabouts import Place, find_job
from cogworker_django.store.store import Store
from tests.stores import raw_job

JID = "a" * 24
HOLDER = "host:1:ab"


def holds(client: redis.Redis, raw: bytes, identity: str = HOLDER, **running: Any) -> None:
    """Leave a process with a job in hand, and with what it has told of its work."""
    client.hset("t:beats", identity, "1700000000.0 1 1")
    client.hset(f"t:inprogress:{identity}", "1:default", raw)
    if running:
        client.set(f"t:work:{identity}", json.dumps([{"thread": "t", "queue": "default", **running}]))


@pytest.mark.parametrize(
    ("place", "put"),
    [
        (Place.SCHEDULED, lambda client, raw: client.zadd("t:schedule", {raw: 9e9})),
        (Place.RETRY, lambda client, raw: client.zadd("t:retry", {raw: 9e9})),
        (Place.DEAD, lambda client, raw: client.zadd("t:dead", {raw: 1.0})),
        (Place.QUEUED, lambda client, raw: client.lpush("t:queue:low", raw)),
        (Place.IN_PROGRESS, holds),
    ],
)
def test_a_job_is_found_in_its_place(store: Store, redis_client: redis.Redis, place: Place, put: Any) -> None:
    redis_client.sadd("t:queues", "default", "low")
    assert find_job(JID, store) is None
    put(redis_client, raw_job(JID, "low", args=[1]))
    found = find_job(JID, store)
    assert found is not None
    assert (found.place, found.payload["args"], found.run_at) == (place, [1], None)
    assert found.host == (HOLDER if place is Place.IN_PROGRESS else None)
    assert find_job("b" * 24, store) is None


def test_a_job_that_runs_is_found_with_its_process_and_since_when(store: Store, redis_client: redis.Redis) -> None:
    since = time.time() - 5
    holds(redis_client, raw_job("b" * 24), "host:0:other")
    holds(redis_client, raw_job(JID), payload={"jid": JID}, run_at=since)
    found = find_job(JID, store)
    assert found is not None
    assert (found.host, found.run_at) == (HOLDER, since)


def test_what_a_process_has_told_is_over_once_it_no_longer_holds_the_job(
    store: Store, redis_client: redis.Redis
) -> None:
    """It tells with its beats, and its last word stays until the next one."""
    holds(redis_client, raw_job("b" * 24), payload={"jid": JID}, run_at=1.0)
    assert find_job(JID, store) is None
    holds(redis_client, raw_job(JID), "host:2:cd")
    found = find_job(JID, store)
    assert found is not None
    assert (found.host, found.run_at) == ("host:2:cd", None)


def test_an_id_within_another_jobs_arguments_is_not_that_job(store: Store, redis_client: redis.Redis) -> None:
    holds(redis_client, raw_job("b" * 24, args=[JID]))
    redis_client.lpush("t:queue:default", raw_job("c" * 24, args=[{"jid": JID}]))
    redis_client.sadd("t:queues", "default")
    assert find_job(JID, store) is None


def test_what_is_damaged_hides_nothing_but_itself(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:dead", {raw_job(JID): 1.0, b"no job": 2.0})
    for key in ("t:beats", "t:schedule", "t:retry", "t:queues"):
        redis_client.set(key, "damaged")
    found = find_job(JID, store)
    assert found is not None
    assert found.place is Place.DEAD


def test_a_job_of_a_wrong_shape_is_none(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:dead", {json.dumps({"jid": JID}).encode(): 1.0})
    assert find_job(JID, store) is None
