"""Keys of the wrong type: found, moved away with their data, and replaced by fresh ones."""

from __future__ import annotations

import time
from typing import cast

import pytest
import redis

from cogworker_django.store.guard import MOST_COPIES
from cogworker_django.store.statistics import hour_of
from cogworker_django.store.store import Store
from tests.stores import open_store, queued, raw_job
from tests.support import StartServer
from tests.trips import ME, Traveller

GONE = "gone:1:x"
KEYS = {
    "schedule": "zset",
    "retry": "zset",
    "dead": "zset",
    "queues": "set",
    "paused_queues": "set",
    "beats": "hash",
    "unsettled": "list",
    "quarantine:unsettled:records": "list",
    "schedule_bell": "list",
    "stats:processed": "string",
    "stats:failed": "string",
    "orphaned": "string",
    "queue:mine": "list",
    "bell:mine": "list",
    "careful:mine": "string",
    "queue:listed": "list",
    "bell:listed": "list",
    "careful:listed": "string",
    f"process:{ME}": "string",
    f"work:{ME}": "string",
    f"signals:{ME}": "list",
    f"inprogress:{GONE}": "hash",
    f"throughput:{hour_of(time.time())}": "hash",
    f"job_attempts:{'0' * 24}": "list",
}


@pytest.fixture(autouse=True)
def registries(redis_client: redis.Redis) -> None:
    redis_client.sadd("t:queues", "listed")
    redis_client.hset("t:beats", mapping={ME: f"{time.time()} 1 1", GONE: "1.0 1 1"})


def damage(client: redis.Redis, name: str, kind: str = "") -> None:
    """Puts something of another type under a name."""
    client.delete(f"t:{name}")
    if (kind or KEYS[name]) == "string":
        client.rpush(f"t:{name}", "wrong")
    else:
        client.set(f"t:{name}", "wrong")


def look(store: Store) -> list[str]:
    """One look; the names of the keys that were moved away."""
    found = [store.guard.quarantine(key, expected) for key, expected in store.guard.damaged(["mine"]).items()]
    return [each.key.removeprefix("t:") for each in found if each]


def copies(client: redis.Redis, name: str) -> list[bytes]:
    return cast(list[bytes], sorted(client.keys(f"t:quarantine:{name}:*")))


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_the_wrong_type_is_moved_away_with_its_data_and_nothing_else_is(
    name: str, store: Store, redis_client: redis.Redis
) -> None:
    """Reference G1, for every kind of key that is ours."""
    damage(redis_client, name)
    before = redis_client.dump(f"t:{name}")
    assert look(store) == [name]
    [copy] = copies(redis_client, name)
    assert redis_client.dump(copy) == before
    assert 2_591_000 < redis_client.ttl(copy) <= 2_592_000
    assert not redis_client.exists(f"t:{name}")
    assert look(store) == []


def test_the_counters_of_the_hour_that_has_ended_are_looked_at_too(store: Store, redis_client: redis.Redis) -> None:
    hour = hour_of(store.jobsets.now()) - 1
    redis_client.set(f"t:throughput:{hour}", "wrong")
    assert look(store) == [f"throughput:{hour}"]


def test_keys_of_the_right_type_stay_as_they_are(store: Store, redis_client: redis.Redis) -> None:
    process = Traveller(store)
    redis_client.lpush("t:queue:default", raw_job())
    process.fetch(1)
    redis_client.zadd("t:retry", {"x": 1})
    redis_client.set("t:stats:processed", 5)
    before = {key: redis_client.dump(key) for key in redis_client.keys("t:*")}
    assert look(store) == []
    assert {key: redis_client.dump(key) for key in redis_client.keys("t:*")} == before


def test_a_damaged_registry_is_replaced_first_and_what_it_lists_at_the_next_look(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference G2."""
    damage(redis_client, "queues")
    damage(redis_client, "queue:listed")
    assert look(store) == ["queues"]
    redis_client.sadd("t:queues", "listed")
    assert look(store) == ["queue:listed"]


def test_a_fresh_key_works_afterwards(store: Store, redis_client: redis.Redis) -> None:
    """Reference G3."""
    damage(redis_client, "queue:mine")
    look(store)
    redis_client.lpush("t:queue:mine", raw_job())
    assert Traveller(store).fetch(1, "mine") == [("mine", raw_job())]


def test_two_quarantines_in_one_second_keep_both_copies_and_the_newest_five_stay(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference G4, 22: copies of a longer key that merely begins like this one are not touched."""
    damage(redis_client, "queue:mine:more", "list")
    store.guard.quarantine("t:queue:mine:more", "list")
    redis_client.set("t:quarantine:queue:mine:1:no copy", "foreign")
    redis_client.set("t:quarantine:queue:mine:" + "9" * 5_000 + ":01234567", "foreign")
    for number in range(MOST_COPIES + 3):
        redis_client.set("t:queue:mine", number)
        store.guard.quarantine("t:queue:mine", "list")
        redis_client.set(f"t:quarantine:queue:mine:{number}:{number:08d}", "an older one")
    assert store.guard.trim_copies() == MOST_COPIES + 3 + 3
    kept = copies(redis_client, "queue:mine")
    assert len(kept) == MOST_COPIES + 3
    assert redis_client.get("t:quarantine:queue:mine:1:no copy") == b"foreign"
    assert len(copies(redis_client, "queue:mine:more")) == 1
    assert b"an older one" not in {redis_client.get(copy) for copy in kept}
    assert store.guard.trim_copies() == 0


def test_the_hash_of_a_living_process_is_left_to_it(store: Store, redis_client: redis.Redis) -> None:
    damage(redis_client, f"inprogress:{ME}", "hash")
    assert look(store) == []


@pytest.mark.parametrize("stamp", ["1.2.3 1 1", "...", "", "inf 1 1", "soon"])
def test_where_the_stamp_cannot_be_read_presence_decides_who_lives(
    stamp: str, store: Store, redis_client: redis.Redis
) -> None:
    """As with recovery: a damaged registry makes nobody a dead one, and switches no look off."""
    redis_client.hset("t:beats", mapping={ME: stamp, GONE: stamp})
    redis_client.set(f"t:process:{ME}", "{}")
    damage(redis_client, f"inprogress:{ME}", "hash")
    damage(redis_client, f"inprogress:{GONE}", "hash")
    assert look(store) == [f"inprogress:{GONE}"]


def test_a_user_that_may_not_look_around_has_the_other_keys_looked_at(
    start_server: StartServer,
) -> None:
    server = start_server()
    store = open_store(server.url)
    damage(store.client, "retry")
    store.client.execute_command("ACL", "SETUSER", "default", "-scan")
    assert look(store) == ["retry"]
    store.client.close()


def test_a_key_that_is_right_by_then_is_left_alone(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:queue:mine", raw_job())
    assert store.guard.quarantine("t:queue:mine", "list") is None
    assert store.guard.quarantine("t:queue:none", "list") is None
    assert queued(redis_client, "mine") == [raw_job()]


def test_a_full_server_lets_keys_be_moved_and_hashes_be_restored(start_server: StartServer) -> None:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    damage(store.client, "retry")
    damage(store.client, f"inprogress:{ME}", "hash")
    store.client.config_set("maxmemory", 1)
    assert look(store) == ["retry"]
    assert Traveller(store).trips.restore({"1:default": raw_job()}) == "string"
    assert store.client.hgetall(f"t:inprogress:{ME}") == {b"1:default": raw_job()}
    [copy] = copies(store.client, f"inprogress:{ME}")
    assert 2_591_000 < store.client.ttl(copy) <= 2_592_000
    store.client.close()


def test_a_hash_that_takes_no_jobs_leaves_the_bells_of_their_queues(store: Store, redis_client: redis.Redis) -> None:
    """The jobs are back on their queues, where others shall hear of them."""
    redis_client.lpush("t:queue:default", raw_job())
    redis_client.rpush("t:bell:default", "1")
    damage(redis_client, f"inprogress:{ME}", "hash")
    landing = Traveller(store).go(1)
    assert landing.jobs == []
    assert not landing.dry
    assert redis_client.llen("t:bell:default") == 1


@pytest.mark.parametrize("present", [True, False])
def test_only_a_damaged_hash_is_restored(present: bool, store: Store, redis_client: redis.Redis) -> None:
    """When it is merely gone, others have taken the jobs."""
    if present:
        redis_client.hset(f"t:inprogress:{ME}", "2:default", "other")
    assert Traveller(store).trips.restore({"1:default": raw_job()}) is None
    assert not redis_client.hexists(f"t:inprogress:{ME}", "1:default")


def test_keys_of_single_jobs_are_found_look_by_look(store: Store, redis_client: redis.Redis) -> None:
    """However many there are: a look goes on where the one before ended."""
    pipe = redis_client.pipeline(transaction=False)
    for number in range(25_000):
        pipe.set(f"t:job_attempts:{number}", "wrong") if number == 20_000 else pipe.rpush(f"t:job_attempts:{number}", 1)
    pipe.execute()
    found = [look(store) for _ in range(6)]
    assert [name for names in found for name in names] == ["job_attempts:20000"]
