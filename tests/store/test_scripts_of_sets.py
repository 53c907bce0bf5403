"""What the scripts of schedule, retry and dead promise, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store

SET, OTHER, DEAD, QUEUES, BELL, NOTHING = "t:retry", "t:schedule", "t:dead", "t:queues", "t:schedule_bell", "t:nothing"
DAY = 86_400
HEAD = ("t:", 60, 60_000)
UNLOCKED = ("t:", "", "", 60)

CALLS: dict[str, tuple[tuple[str, ...], tuple[Any, ...]]] = {
    "schedule": ((SET, BELL), (*HEAD, "at", 5, "a", "", "", "")),
    "promote": ((SET, QUEUES, NOTHING), ("t:", 60, "a", "low", "b", "", "")),
    "kill": ((SET, DEAD, NOTHING), ("t:", 10, DAY, "a")),
    "bury": ((SET, DEAD, "t:stats:failed", NOTHING), ("t:", 10, DAY, 600, "a", "b")),
    "remove": ((SET,), ("t:", "a", "j", "")),
    "reschedule": ((SET, OTHER, BELL, NOTHING), ("a", "at", 5, *UNLOCKED)),
    "postpone": ((SET, NOTHING), (5, "a")),
    "lowest": ((SET,), (0, 0, 10, 1000)),
}


def entries(client: redis.Redis, key: str) -> dict[bytes, float]:
    return dict(cast(list[tuple[bytes, float]], client.zrange(key, 0, -1, withscores=True)))


def keys(client: redis.Redis) -> set[bytes]:
    return set(cast(list[bytes], client.keys("*")))


@pytest.mark.parametrize("name", CALLS)
def test_a_set_of_the_wrong_type_is_refused_and_nothing_is_written(
    name: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set(SET, "no set")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.gateway.run(name, *CALLS[name])
    assert keys(redis_client) == {SET.encode()}


@pytest.mark.parametrize("name", ["promote", "kill", "bury", "remove", "reschedule", "postpone"])
def test_for_an_entry_that_is_gone_nothing_is_written(name: str, store: Store, redis_client: redis.Redis) -> None:
    reply = store.gateway.run(name, *CALLS[name])
    assert reply in ([b"gone"], b"gone", 0)
    assert keys(redis_client) == set()


def test_what_is_scheduled_is_all_there(store: Store, redis_client: redis.Redis) -> None:
    assert (
        store.gateway.run(
            "schedule",
            (SET, BELL),
            (*HEAD, "at", 5, "a", "", "", "", "at", 6, "b", "", "", "", "at", 7, "c", "", "", ""),
        )
        == []
    )
    assert redis_client.zcard(SET) == 3


def test_scheduling_rings_only_for_what_is_due_before_all_others(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"first": 5, "second": 9})
    store.gateway.run("schedule", (SET, BELL), (*HEAD, "at", 5, "a", "", "", "", "at", 7, "b", "", "", ""))
    assert not redis_client.exists(BELL)
    store.gateway.run(
        "schedule", (SET, BELL), (*HEAD, "at", 8, "c", "", "", "", "at", 4, "d", "", "", "", "at", 6, "e", "", "", "")
    )
    assert redis_client.llen(BELL) == 1


def test_a_delay_is_counted_from_the_servers_clock(store: Store, redis_client: redis.Redis) -> None:
    store.gateway.run("schedule", (SET, BELL), (*HEAD, "in", 100, "a", "", "", "", "at", 100, "b", "", "", ""))
    found = entries(redis_client, SET)
    assert found[b"b"] == 100
    assert abs(found[b"a"] - time.time() - 100) < 5


def test_the_servers_clock_is_read_to_the_microsecond(store: Store, redis_client: redis.Redis) -> None:
    before = redis_client.time()
    store.gateway.run("schedule", (SET, BELL), (*HEAD, "in", 0, "a", "", "", ""))
    after = redis_client.time()
    score = entries(redis_client, SET)[b"a"]
    assert before[0] + before[1] / 1e6 - 1e-5 <= score <= after[0] + after[1] / 1e6 + 1e-5


def test_promoting_keeps_all_else_and_rings_once_for_each_job(store: Store, redis_client: redis.Redis) -> None:
    redis_client.sadd(QUEUES, "other")
    redis_client.zadd(SET, {"a": 1, "b": 2, "c": 3, "d": 4})
    plain = [("a", "low", "A"), ("x", "low", "X"), ("b", "low", "B"), ("c", "high", "C")]
    words = [word for each in plain for word in (*each, "", "")]
    assert store.gateway.run("promote", (SET, QUEUES, NOTHING), ("t:", 60, *words)) == [
        b"moved",
        b"gone",
        b"moved",
        b"moved",
    ]
    assert redis_client.lrange("t:queue:low", 0, -1) == [b"B", b"A"]
    assert redis_client.lrange("t:queue:high", 0, -1) == [b"C"]
    assert redis_client.smembers(QUEUES) == {b"other", b"low", b"high"}
    assert (redis_client.llen("t:bell:low"), redis_client.llen("t:bell:high")) == (2, 1)
    assert entries(redis_client, SET) == {b"d": 4}


def test_what_a_queue_refuses_stays_and_the_reason_is_told(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:low", "no list")
    redis_client.zadd(SET, {"a": 1, "b": 2})
    refused, moved = store.gateway.run(
        "promote", (SET, QUEUES, NOTHING), ("t:", 60, "a", "low", "A", "", "", "b", "high", "B", "", "")
    )
    assert refused.startswith(b"WRONGTYPE")
    assert moved == b"moved"
    assert entries(redis_client, SET) == {b"a": 1}
    assert redis_client.smembers(QUEUES) == {b"high"}


@pytest.mark.parametrize("damaged", [QUEUES, "t:bell:low"])
def test_a_damaged_bell_or_list_of_queues_stops_no_promotion(
    damaged: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.hset(damaged, "no", "list")
    redis_client.zadd(SET, {"a": 1})
    assert store.gateway.run("promote", (SET, QUEUES, NOTHING), ("t:", 60, "a", "low", "A", "", "")) == [b"moved"]
    assert redis_client.lrange("t:queue:low", 0, -1) == [b"A"]


@pytest.mark.parametrize(("name", "filed"), [("kill", b"a"), ("bury", b"b")])
def test_what_goes_to_dead_is_stamped_now_and_trims_what_is_too_old_or_too_many(
    name: str, filed: bytes, store: Store, redis_client: redis.Redis
) -> None:
    now = time.time()
    redis_client.zadd(SET, {"a": 1})
    redis_client.zadd(DEAD, {"old": now - DAY - 100, "young": now - DAY + 100})
    assert store.gateway.run(name, *CALLS[name]) == [b"moved"]
    found = entries(redis_client, DEAD)
    assert set(found) == {filed, b"young"}
    assert abs(found[filed] - now) < 5
    assert not redis_client.exists(SET)


@pytest.mark.parametrize("name", ["kill", "bury"])
def test_what_goes_to_dead_trims_to_the_number_kept(name: str, store: Store, redis_client: redis.Redis) -> None:
    now = time.time()
    redis_client.zadd(SET, {"a": 1})
    redis_client.zadd(DEAD, {f"d{number:02}": now - 100 + number for number in range(15)})
    store.gateway.run(name, *CALLS[name])
    assert len(entries(redis_client, DEAD)) == 10
    assert b"d06" in entries(redis_client, DEAD)
    assert b"d05" not in entries(redis_client, DEAD)


@pytest.mark.parametrize("name", ["kill", "bury"])
def test_what_dead_refuses_stays_and_the_reason_is_told(name: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1})
    redis_client.set(DEAD, "no set")
    [reply] = store.gateway.run(name, *CALLS[name])
    assert reply.startswith(b"WRONGTYPE")
    assert entries(redis_client, SET) == {b"a": 1}
    assert not redis_client.exists("t:stats:failed")


def test_several_are_killed_at_once(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1, "b": 2, "c": 3})
    assert store.gateway.run("kill", (SET, DEAD, NOTHING), ("t:", 10, DAY, "a", "x", "c")) == [
        b"moved",
        b"gone",
        b"moved",
    ]
    assert set(entries(redis_client, DEAD)) == {b"a", b"c"}
    assert set(entries(redis_client, SET)) == {b"b"}


def test_the_buried_count_as_failed_in_all_and_in_their_hour(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1, "b": 2})
    pairs = ("a", "A", "x", "X", "b", "B")
    reply = store.gateway.run("bury", (SET, DEAD, "t:stats:failed", NOTHING), ("t:", 10, DAY, 600, *pairs))
    assert reply == [b"moved", b"gone", b"moved"]
    assert redis_client.get("t:stats:failed") == b"2"
    [hour] = redis_client.keys("t:throughput:*")
    assert hour == f"t:throughput:{int(time.time() // 3600)}".encode()
    assert redis_client.hgetall(hour) == {b"failed": b"2"}
    assert 590 < redis_client.ttl(hour) <= 600


@pytest.mark.parametrize("damaged", ["t:stats:failed", "hour"])
def test_a_damaged_counter_stops_no_burial(damaged: str, store: Store, redis_client: redis.Redis) -> None:
    key = f"t:throughput:{int(time.time() // 3600)}" if damaged == "hour" else damaged
    redis_client.rpush(key, "no counter")
    redis_client.zadd(SET, {"a": 1})
    assert store.gateway.run(*("bury", *CALLS["bury"])) == [b"moved"]
    assert set(entries(redis_client, DEAD)) == {b"b"}


def test_removing_touches_neither_other_entries_nor_other_records(store: Store, redis_client: redis.Redis) -> None:
    """A job's id may be an entry, and an entry without an id has no record."""
    redis_client.zadd(SET, {"a": 1, "b": 2, "j": 3, "c": 4})
    for record in ("", "j", "k"):
        redis_client.set(f"t:job_attempts:{record}", "1")
    assert store.gateway.run("remove", (SET,), ("t:", "a", "j", "", "b", "", "", "gone", "k", "")) == 2
    assert set(entries(redis_client, SET)) == {b"j", b"c"}
    assert set(redis_client.keys("t:job_attempts:*")) == {b"t:job_attempts:", b"t:job_attempts:k"}


def test_rescheduling_within_a_set_changes_the_time_only(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1, "b": 5})
    assert store.gateway.run("reschedule", (SET, SET, BELL, NOTHING), ("a", "at", 10, *UNLOCKED)) == b"moved"
    assert entries(redis_client, SET) == {b"a": 10, b"b": 5}
    assert not redis_client.exists(BELL)
    redis_client.rpush(BELL, "1")
    assert store.gateway.run("reschedule", (SET, SET, BELL, NOTHING), ("a", "at", 11, *UNLOCKED)) == b"moved"
    assert redis_client.llen(BELL) == 1
    assert store.gateway.run("reschedule", (SET, SET, BELL, NOTHING), ("a", "at", 3, *UNLOCKED)) == b"moved"
    assert redis_client.llen(BELL) == 2


def test_rescheduling_into_another_set_moves_the_entry(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1, "b": 5})
    assert store.gateway.run("reschedule", (SET, OTHER, BELL, NOTHING), ("a", "in", 100, *UNLOCKED)) == b"moved"
    assert entries(redis_client, SET) == {b"b": 5}
    assert abs(entries(redis_client, OTHER)[b"a"] - time.time() - 100) < 5
    assert redis_client.llen(BELL) == 1


def test_an_entry_that_another_set_refuses_stays(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1})
    redis_client.set(OTHER, "no set")
    with pytest.raises(RedisRefused):
        store.gateway.run("reschedule", (SET, OTHER, BELL, NOTHING), ("a", "at", 100, *UNLOCKED))
    assert entries(redis_client, SET) == {b"a": 1}


def test_postponing_counts_what_was_still_there_and_makes_nothing_new(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1, "b": 2, "c": 3, "100": 4})
    assert store.gateway.run("postpone", (SET, NOTHING), (100, "a", "gone", "c")) == 2
    found = entries(redis_client, SET)
    assert (found[b"b"], found[b"100"]) == (2, 4)
    assert set(found) == {b"a", b"b", b"c", b"100"}
    assert abs(found[b"a"] - time.time() - 100) < 5
    assert found[b"a"] == found[b"c"]


def test_trimming_tells_how_many_went_at_most_a_thousand(store: Store, redis_client: redis.Redis) -> None:
    now = time.time()
    redis_client.zadd(DEAD, {f"d{number:05}": now - 5000 + number for number in range(1500)})
    assert store.gateway.run("trim_dead", (DEAD,), (100, DAY)) == 1000
    assert b"d01000" in entries(redis_client, DEAD)
    assert store.gateway.run("trim_dead", (DEAD,), (100, DAY)) == 400
    assert store.gateway.run("trim_dead", (DEAD,), (100, DAY)) == 0
    assert store.gateway.run("trim_dead", (DEAD,), (99, DAY)) == 1
    assert redis_client.zcard(DEAD) == 99


def test_trimming_by_age_spares_what_is_just_young_enough(store: Store, redis_client: redis.Redis) -> None:
    now = time.time()
    redis_client.zadd(DEAD, {"old": now - 1000.5, "young": now - 990})
    assert store.gateway.run("trim_dead", (DEAD,), (100, 1000)) == 1
    assert set(entries(redis_client, DEAD)) == {b"young"}


def test_a_damaged_dead_is_not_trimmed(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(DEAD, "no set")
    assert store.gateway.run("trim_dead", (DEAD,), (100, 1000)) == 0


def lowest(store: Store, due: int, skip: int, number: int, size: int) -> tuple[float, list[bytes]]:
    now, *flat = store.gateway.run("lowest", (SET,), (due, skip, number, size))
    return float(now), flat[::2]


def test_the_lowest_are_read_with_their_scores_and_the_time(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": 1.5, "b": 2})
    now, *flat = store.gateway.run("lowest", (SET,), (0, 0, 10, 1000))
    assert flat == [b"a", b"1.5", b"b", b"2"]
    assert abs(float(now) - time.time()) < 5
    assert len(now.partition(b".")[2]) == 6


def test_only_what_is_due_is_read_when_asked_so(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {"a": float("-inf"), "b": time.time() - 1, "c": time.time() + 1000, "d": float("inf")})
    assert lowest(store, 1, 0, 10, 1000)[1] == [b"a", b"b"]
    assert lowest(store, 0, 0, 10, 1000)[1] == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize(
    ("skip", "number"), [(0, 1), (0, 49), (0, 50), (0, 51), (7, 100), (0, 120), (100, 50), (0, 500)]
)
def test_exactly_as_many_are_read_as_asked_for(skip: int, number: int, store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd(SET, {f"e{place:03}": place for place in range(120)})
    assert lowest(store, 0, skip, number, 100_000)[1] == [
        f"e{place:03}".encode() for place in range(skip, min(skip + number, 120))
    ]


@pytest.mark.parametrize(("size", "read"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (240, 60), (241, 61)])
def test_no_further_ones_are_read_once_they_are_too_large_together(
    size: int, read: int, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.zadd(SET, {f"e{place:03}": place for place in range(120)})
    assert len(lowest(store, 0, 0, 100, size)[1]) == read
