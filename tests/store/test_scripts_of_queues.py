"""What the scripts of queues and bells promise, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

from typing import Any, cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store

QUEUE, BELL, QUEUES, NOTHING, HELD, PAUSED = "t:queue:q", "t:bell:q", "t:queues", "t:nothing", "t:held", "t:paused"
PLAIN = ("q", "t:", 60, 60_000, 1)

CALLS: dict[str, tuple[tuple[str, ...], tuple[Any, ...]]] = {
    "push": ((QUEUE, BELL, QUEUES), (*PLAIN, "a")),
    "put_front": ((QUEUE, BELL, QUEUES, NOTHING), ("q", "a")),
    "put_back": ((QUEUE, NOTHING), ("1",)),
    "clear_queue": ((QUEUE, BELL, QUEUES), ("q", "t:", 10, 1000)),
    "delete_job": ((QUEUE,), ("t:", "a", "j", "")),
    "queue_page": ((QUEUE,), (0, "", 10, 1000, "")),
    "requeue": ((QUEUE, QUEUES, NOTHING), ("t:", 60, "1:q")),
    "resume": ((QUEUE,), ("t:", "q", "q")),
    "signal": ((QUEUE,), ("stop", 100, 5)),
}


def keys(client: redis.Redis) -> set[bytes]:
    return set(cast(list[bytes], client.keys("*")))


@pytest.mark.parametrize("name", CALLS)
def test_a_key_of_the_wrong_type_is_refused_and_nothing_is_written(
    name: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set(QUEUE, "no list")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.gateway.run(name, *CALLS[name])
    assert keys(redis_client) == {QUEUE.encode()}


@pytest.mark.parametrize("name", ["push", "put_front"])
@pytest.mark.parametrize("damaged", [QUEUES, BELL])
def test_a_damaged_bell_or_list_of_queues_stops_no_job(
    damaged: str, name: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.hset(damaged, "no", "list")
    store.gateway.run(name, *CALLS[name])
    assert redis_client.lrange(QUEUE, 0, -1) == [b"a"]


def test_the_first_pushed_given_runs_first(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "z")
    assert store.gateway.run("push", (QUEUE, BELL, QUEUES), (*PLAIN, "a", "b")) == []
    assert redis_client.lrange(QUEUE, 0, -1) == [b"b", b"a", b"z"]
    assert redis_client.smembers(QUEUES) == {b"q"}
    assert redis_client.lrange(BELL, 0, -1) == [b"1", b"1"]


def test_what_is_put_in_front_runs_before_all_others(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "z")
    redis_client.sadd(QUEUES, "other")
    assert store.gateway.run("put_front", (QUEUE, BELL, QUEUES, NOTHING), ("q", "b", "a")) == 2
    assert redis_client.lrange(QUEUE, 0, -1) == [b"z", b"b", b"a"]
    assert redis_client.smembers(QUEUES) == {b"q", b"other"}
    assert redis_client.llen(BELL) == 2


@pytest.mark.parametrize(
    ("there", "pushed", "rung"), [(0, 1, 1), (0, 20, 16), (15, 1, 16), (15, 3, 16), (16, 1, 16), (17, 1, 17)]
)
def test_a_bell_holds_a_token_for_each_job_and_sixteen_at_most(
    there: int, pushed: int, rung: int, store: Store, redis_client: redis.Redis
) -> None:
    if there:
        redis_client.rpush(BELL, *["x"] * there)
    store.gateway.run("push", (QUEUE, BELL, QUEUES), (*PLAIN, *["a"] * pushed))
    assert redis_client.llen(BELL) == rung
    assert redis_client.lrange(BELL, 0, -1)[: rung - there] == [b"1"] * (rung - there)


def test_a_token_put_back_is_the_next_to_be_taken(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(BELL, "x")
    assert store.gateway.run("put_back", (BELL, NOTHING), ("1",)) == 2
    assert redis_client.lrange(BELL, 0, -1) == [b"1", b"x"]


@pytest.mark.parametrize(("number", "left"), [(1, [b"c", b"b"]), (2, [b"c"])])
def test_clearing_takes_those_that_would_run_next(
    number: int, left: list[bytes], store: Store, redis_client: redis.Redis
) -> None:
    redis_client.rpush(QUEUE, "c", "b", "a")
    redis_client.rpush(BELL, "1")
    redis_client.sadd(QUEUES, "q")
    assert store.gateway.run("clear_queue", (QUEUE, BELL, QUEUES), ("q", "t:", number, 1000)) == number
    assert redis_client.lrange(QUEUE, 0, -1) == left
    assert redis_client.exists(BELL)
    assert redis_client.smembers(QUEUES) == {b"q"}


@pytest.mark.parametrize("number", [3, 4])
def test_a_queue_that_is_cleared_is_no_longer_listed(number: int, store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "c", "b", "a")
    redis_client.rpush(BELL, "1")
    redis_client.sadd(QUEUES, "q", "other")
    assert store.gateway.run("clear_queue", (QUEUE, BELL, QUEUES), ("q", "t:", number, 1000)) == 3
    assert keys(redis_client) == {QUEUES.encode()}
    assert redis_client.smembers(QUEUES) == {b"other"}


@pytest.mark.parametrize(
    ("number", "size", "taken"),
    [(100, 0, 0), (100, 1, 50), (100, 200, 50), (100, 201, 100), (60, 1000, 60), (0, 1000, 0), (500, 1000, 120)],
)
def test_clearing_ends_at_its_number_or_once_the_jobs_are_too_large_together(
    number: int, size: int, taken: int, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.rpush(QUEUE, *[f"j{place:03}" for place in range(120)])
    assert store.gateway.run("clear_queue", (QUEUE, BELL, QUEUES), ("q", "t:", number, size)) == taken
    assert redis_client.llen(QUEUE) == 120 - taken


def test_a_damaged_list_of_queues_stops_no_clearing(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "a")
    redis_client.set(QUEUES, "no set")
    assert store.gateway.run("clear_queue", (QUEUE, BELL, QUEUES), ("q", "t:", 5, 1000)) == 1
    assert not redis_client.exists(QUEUE)


def page(store: Store, start: int, known: int | str, number: int, size: int, text: str = "") -> list[Any]:
    reply: list[Any] = store.gateway.run("queue_page", (QUEUE,), (start, known, number, size, text))
    return reply


@pytest.mark.parametrize(
    ("start", "number"), [(0, 1), (0, 49), (0, 50), (0, 51), (3, 60), (0, 120), (100, 50), (0, 500)]
)
def test_a_page_has_exactly_as_many_jobs_as_asked_for(
    start: int, number: int, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.rpush(QUEUE, *[f"j{place:03}" for place in range(120)])
    end = min(start + number, 120)
    expected = [f"j{place:03}".encode() for place in range(start, end)]
    assert page(store, start, "", number, 100_000) == [120, end, *expected]


def test_a_page_goes_on_where_the_earlier_one_ended_although_jobs_came_or_went(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.rpush(QUEUE, *[f"j{place:03}" for place in range(10)])
    assert page(store, 4, 10, 2, 1000) == [10, 6, b"j004", b"j005"]
    redis_client.lpush(QUEUE, "new", "newer")
    assert page(store, 4, 10, 2, 1000) == [12, 8, b"j004", b"j005"]
    redis_client.ltrim(QUEUE, 6, -1)
    assert page(store, 4, 10, 2, 1000) == [6, 2, b"j004", b"j005"]
    redis_client.ltrim(QUEUE, 3, -1)
    assert page(store, 4, 10, 2, 1000) == [3, 2, b"j007", b"j008"]


def test_a_page_ends_once_its_jobs_are_too_large_together(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, *[f"j{place:03}" for place in range(120)])
    assert page(store, 0, "", 100, 0) == [120, 0]
    assert page(store, 0, "", 100, 1)[1] == 50
    assert page(store, 0, "", 100, 200)[1] == 50
    assert page(store, 0, "", 100, 201)[1] == 100


def test_a_page_gives_only_jobs_that_contain_a_text_taken_literally(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "a.c", "abc", "xa.c")
    assert page(store, 0, "", 10, 1000, "a.c") == [3, 3, b"a.c", b"xa.c"]
    assert page(store, 0, "", 10, 1000, "") == [3, 3, b"a.c", b"abc", b"xa.c"]


def test_requeued_jobs_stand_in_front_of_their_queues(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={"12:q": "c", "3:q": "b", "2:odd:name": "a", "1:q": "kept", "60": "no token"})
    redis_client.rpush(QUEUE, "z")
    redis_client.sadd(QUEUES, "other")
    tokens = ("12:q", "9:q", "3:q", "2:odd:name")
    assert store.gateway.run("requeue", (HELD, QUEUES, NOTHING), ("t:", 60, *tokens)) == [3]
    assert redis_client.lrange(QUEUE, 0, -1) == [b"z", b"c", b"b"]
    assert redis_client.lrange("t:queue:odd:name", 0, -1) == [b"a"]
    assert redis_client.hgetall(HELD) == {b"1:q": b"kept", b"60": b"no token"}
    assert redis_client.smembers(QUEUES) == {b"other", b"q", b"odd:name"}
    assert (redis_client.llen(BELL), redis_client.llen("t:bell:odd:name")) == (2, 1)


def test_what_a_queue_refuses_stays_held_and_each_reason_is_told(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={"3:q": "c", "2:q": "b", "1:free": "a"})
    redis_client.set(QUEUE, "no list")
    moved, *report = store.gateway.run("requeue", (HELD, QUEUES, NOTHING), ("t:", 60, "3:q", "2:q", "1:free"))
    assert moved == 1
    assert report[::2] == [b"3:q", b"2:q"]
    assert all(reason.startswith(b"WRONGTYPE") for reason in report[1::2])
    assert set(redis_client.hkeys(HELD)) == {b"3:q", b"2:q"}
    assert redis_client.smembers(QUEUES) == {b"free"}
    assert not redis_client.exists(BELL)


@pytest.mark.parametrize("damaged", [QUEUES, BELL])
def test_a_damaged_bell_or_list_of_queues_stops_no_requeueing(
    damaged: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set(damaged, "no list")
    redis_client.hset(HELD, "1:q", "a")
    assert store.gateway.run("requeue", (HELD, QUEUES, NOTHING), ("t:", 60, "1:q")) == [1]
    assert redis_client.lrange(QUEUE, 0, -1) == [b"a"]


def test_resuming_rings_for_the_jobs_of_each_queue_that_has_some(store: Store, redis_client: redis.Redis) -> None:
    redis_client.sadd(PAUSED, "*", "q")
    redis_client.rpush(QUEUE, "a", "b")
    redis_client.rpush("t:queue:one", "a")
    redis_client.set("t:queue:damaged", "no list")
    reply = store.gateway.run("resume", (PAUSED,), ("t:", "*", "q", "damaged", "empty", "one"))
    assert reply == 1
    assert redis_client.smembers(PAUSED) == {b"q"}
    assert set(redis_client.keys("t:bell:*")) == {BELL.encode(), b"t:bell:one"}
    assert (redis_client.llen(BELL), redis_client.llen("t:bell:one")) == (2, 1)


def test_resuming_what_is_not_paused_changes_nothing(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(QUEUE, "a")
    assert store.gateway.run("resume", (PAUSED,), ("t:", "q", "q")) == 0
    assert keys(redis_client) == {QUEUE.encode()}
