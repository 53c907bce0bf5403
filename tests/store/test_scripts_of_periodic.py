"""What the scripts of periodic entries promise, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store
from tests.lasting import lasting

QUEUE, BELL, QUEUES = "t:queue:q", "t:bell:q", "t:queues"
SLOTS, DISABLED, RUNS, ENTRIES, SEEN = "t:slots", "t:disabled", "t:runs", "t:entries", "t:seen"
HOUR, SLOT = 3600, 1_000_000
DIGEST = "0" * 32
LOCK, STATUS = f"t:unique:{DIGEST}", "t:status:j"


def keys(client: redis.Redis) -> set[str]:
    return {key.decode() for key in cast(list[bytes], client.keys("*"))}


def fire(store: Store, slot: int = SLOT, digest: str = "", status: str = "") -> str:
    names = (QUEUE, BELL, QUEUES, SLOTS, DISABLED, RUNS)
    args = ("q", "t:", HOUR, 60_000, "e", slot, "raw", "j", digest, status)
    return str(store.gateway.run("fire_slot", names, args).decode())


# Firing


def test_a_slot_is_claimed_with_its_job_and_its_run(store: Store, redis_client: redis.Redis) -> None:
    redis_client.lpush(QUEUE, "z")
    redis_client.sadd(QUEUES, "other")
    redis_client.sadd(DISABLED, "other")
    redis_client.hset(SLOTS, "other", SLOT)
    assert fire(store) == "fired"
    assert redis_client.lrange(QUEUE, 0, -1) == [b"raw", b"z"]
    assert redis_client.hgetall(SLOTS) == {b"other": str(SLOT).encode(), b"e": str(SLOT).encode()}
    assert redis_client.smembers(QUEUES) == {b"other", b"q"}
    assert redis_client.lrange(BELL, 0, -1) == [b"1"]
    assert json.loads(redis_client.hget(RUNS, "e") or "") == {"jid": "j", "slot": SLOT, "outcome": "queued"}
    assert keys(redis_client) == {QUEUE, BELL, QUEUES, SLOTS, DISABLED, RUNS}


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (SLOT - 1, "fired"),
        (SLOT, "taken"),
        (SLOT + 1, "taken"),
        (999, "fired"),
        ("no number", "fired"),
        ("9" * 11, "taken"),
    ]
    + [(odd, "fired") for odd in ("9" * 12, "inf", "1e9", "-1", "")],
)
def test_a_slot_is_fired_once_and_none_before_it(
    last: int | str, outcome: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.hset(SLOTS, "e", last)
    assert fire(store, digest=DIGEST, status="queued") == outcome
    assert keys(redis_client) == ({SLOTS} if outcome == "taken" else {SLOTS, QUEUE, BELL, QUEUES, RUNS, LOCK, STATUS})


def test_an_entry_that_is_switched_off_is_not_fired(store: Store, redis_client: redis.Redis) -> None:
    redis_client.sadd(DISABLED, "e")
    assert fire(store) == "disabled"
    assert keys(redis_client) == {DISABLED}


@pytest.mark.parametrize(("ahead", "outcome"), [(60, "early"), (-1, "fired")])
def test_a_slot_is_not_fired_before_its_time_on_the_servers_clock(
    ahead: int, outcome: str, store: Store, redis_client: redis.Redis
) -> None:
    assert fire(store, int(cast(Any, redis_client.time())[0]) + ahead) == outcome
    assert redis_client.exists(QUEUE, SLOTS) == (2 if outcome == "fired" else 0)


def test_what_its_lock_blocks_is_still_to_be_fired(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(LOCK, "other")
    assert fire(store, digest=DIGEST, status="queued") == "blocked"
    assert keys(redis_client) == {LOCK}


def test_the_lock_and_the_status_come_with_the_job(store: Store, redis_client: redis.Redis) -> None:
    with lasting(redis_client, LOCK, HOUR), lasting(redis_client, STATUS, 60):
        assert fire(store, digest=DIGEST, status="queued") == "fired"
    assert redis_client.mget(LOCK, STATUS) == [b"j", b"queued"]


@pytest.mark.parametrize("damaged", [QUEUE, SLOTS])
def test_a_slot_that_cannot_be_fired_leaves_nothing(damaged: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(damaged, "damaged")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        fire(store, digest=DIGEST, status="queued")
    assert keys(redis_client) == {damaged}


@pytest.mark.parametrize("damaged", [QUEUES, BELL, RUNS, DISABLED])
def test_damage_beside_stops_no_slot(damaged: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(damaged, "damaged")
    assert fire(store) == "fired"
    assert redis_client.lrange(QUEUE, 0, -1) == [b"raw"]


# Passing


def skip(store: Store, first: int = 0) -> int:
    return int(store.gateway.run("skip_slot", (SLOTS,), ("e", SLOT, first)))


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_slot_of_an_entry_is_passed(first: int, store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(SLOTS, "other", SLOT)
    assert skip(store, first) == 1
    assert redis_client.hget(SLOTS, "e") == str(SLOT).encode()


@pytest.mark.parametrize(
    ("last", "passed"),
    [(SLOT - 1, True), (SLOT, False), (SLOT + 1, False), (999, True), ("no number", True), ("9" * 11, False)]
    + [(odd, True) for odd in ("9" * 12, "inf", "1e9", "-1", "")],
)
def test_a_slot_is_passed_unless_it_or_a_later_one_is(
    last: int | str, passed: bool, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.hset(SLOTS, "e", last)
    assert skip(store, first=1) == 0
    assert redis_client.hget(SLOTS, "e") == str(last).encode()
    assert skip(store) == passed
    assert redis_client.hget(SLOTS, "e") == str(SLOT if passed else last).encode()


@pytest.mark.parametrize("first", [0, 1])
def test_damaged_slots_are_not_passed(first: int, store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(SLOTS, "damaged")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        skip(store, first)


# Switching on


def enable(store: Store) -> int:
    return int(store.gateway.run("enable_entry", (DISABLED, SLOTS), ("e",)))


def test_what_was_due_while_an_entry_was_off_counts_as_passed(store: Store, redis_client: redis.Redis) -> None:
    redis_client.sadd(DISABLED, "e", "other")
    before = int(cast(Any, redis_client.time())[0])
    assert enable(store) == 1
    after = int(cast(Any, redis_client.time())[0])
    assert before <= int(redis_client.hget(SLOTS, "e") or 0) <= after
    assert redis_client.smembers(DISABLED) == {b"other"}


def test_an_entry_that_was_on_is_left_as_it_is(store: Store, redis_client: redis.Redis) -> None:
    assert enable(store) == 0
    assert keys(redis_client) == set()


def test_an_entry_stays_off_while_it_cannot_be_written_that_what_was_due_has_passed(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.sadd(DISABLED, "e")
    redis_client.set(SLOTS, "damaged")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        enable(store)
    assert redis_client.sismember(DISABLED, "e")


def test_an_entry_is_not_said_to_be_on_when_that_cannot_be_written(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(DISABLED, "damaged")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        enable(store)
    assert keys(redis_client) == {DISABLED}


# Showing


def publish(store: Store, *shown: str, kept: float = 100) -> int:
    return int(store.gateway.run("publish_entries", (ENTRIES, SEEN), (kept, *shown)))


def test_each_entry_is_shown_with_the_time(store: Store, redis_client: redis.Redis) -> None:
    now = float(cast(Any, redis_client.time())[0])
    assert publish(store, "a", "A", "b", "B") == 0
    assert redis_client.hgetall(ENTRIES) == {b"a": b"A", b"b": b"B"}
    seen = cast(dict[bytes, bytes], redis_client.hgetall(SEEN))
    assert set(seen) == {b"a", b"b"}
    assert all(now <= float(stamp) < now + 60 for stamp in seen.values())


def test_what_nobody_has_shown_for_a_while_goes(store: Store, redis_client: redis.Redis) -> None:
    now = float(cast(Any, redis_client.time())[0])
    stamps: dict[str, float | str] = {"young": now - 10, "old": now - 110, "damaged": "x", "shown": now - 999}
    redis_client.hset(ENTRIES, mapping=dict.fromkeys([*stamps, "unseen"], "old"))
    redis_client.hset(SEEN, mapping=cast(Any, stamps))
    assert publish(store, "shown", "new") == 3
    assert redis_client.hgetall(ENTRIES) == {b"young": b"old", b"shown": b"new"}
    assert set(redis_client.hkeys(SEEN)) == {b"young", b"shown"}


@pytest.mark.parametrize("shown", [(), ("a", "A")])
@pytest.mark.parametrize("damaged", [ENTRIES, SEEN])
def test_damaged_entries_are_not_shown_and_none_goes(
    damaged: str, shown: tuple[str, ...], store: Store, redis_client: redis.Redis
) -> None:
    redis_client.hset(ENTRIES, "other", "text")
    redis_client.set(damaged, "damaged")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        publish(store, *shown)
    if damaged == ENTRIES:
        assert keys(redis_client) == {ENTRIES}
    else:
        assert redis_client.hexists(ENTRIES, "other")
