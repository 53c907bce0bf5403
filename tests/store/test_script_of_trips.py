"""What the script of a trip promises, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

import re
from typing import cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.settlement import Command
from cogworker_django.store.store import Store
from tests.stores import queued, raw_job
from tests.trips import IN_PROGRESS, ME, Traveller, verdict


@pytest.fixture
def process(store: Store) -> Traveller:
    return Traveller(store)


@pytest.fixture
def basic(store: Store) -> Traveller:
    return Traveller(store, reliable=False)


def push(client: redis.Redis, queue: str, *jobs: str) -> None:
    """Put jobs on a queue; the first runs first."""
    client.lpush(f"t:queue:{queue}", *jobs)


def hold(client: redis.Redis, *tokens: str) -> None:
    client.hset(IN_PROGRESS, mapping=dict.fromkeys(tokens, raw_job()))


def counter(client: redis.Redis, kind: str) -> int:
    return int(client.get(f"t:stats:{kind}") or 0)


# Settling


def test_a_damaged_hash_refuses_a_verdict_before_anything_of_it_is_written(
    process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set(IN_PROGRESS, "no hash")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        process.go(done=["1:default"])
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        process.go(verdicts=[verdict("1:default", ["SET", "t:written", "1"])])
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        process.go(verdicts=[verdict("1:default", beside=[["SET", "t:written", "1"]])])
    assert not redis_client.exists("t:written")


@pytest.mark.parametrize("writes", [1, 2])
def test_nothing_is_written_of_a_job_that_is_gone_however_many_writes_there_are(
    writes: int, process: Traveller, redis_client: redis.Redis
) -> None:
    essential: list[Command] = [["SET", f"t:written:{number}", "1"] for number in range(writes)]
    landing = process.go(verdicts=[verdict("1:default", *essential, beside=[["SET", "t:beside", "1"]])])
    assert landing.results == ["gone"]
    assert redis_client.keys("t:written:*") == []
    assert not redis_client.exists("t:beside")


def test_a_verdict_of_one_write_beside_and_none_that_is_essential_is_fenced_too(
    process: Traveller, redis_client: redis.Redis
) -> None:
    hold(redis_client, "1:default")
    two = [verdict(token, beside=[["INCR", "t:beside"]]) for token in ("1:default", "2:default")]
    assert process.go(verdicts=two).results == ["settled", "gone"]
    assert redis_client.get("t:beside") == b"1"
    assert not redis_client.exists(IN_PROGRESS)


def test_a_write_may_answer_with_anything_but_an_error(process: Traveller, redis_client: redis.Redis) -> None:
    hold(redis_client, "1:default")
    writes: list[Command] = [["SET", "t:a", "1"], ["LRANGE", "t:b", "0", "-1"], ["GET", "t:none"], ["INCR", "t:a"]]
    assert process.go(verdicts=[verdict("1:default", *writes)]).results == ["settled"]
    assert redis_client.get("t:a") == b"2"


def test_each_verdict_has_its_own_result_in_their_order(process: Traveller, redis_client: redis.Redis) -> None:
    hold(redis_client, "1:default", "3:default")
    redis_client.set("t:text", "x")
    verdicts = [
        verdict("1:default", ["LPUSH", "t:text", "1"]),
        verdict("2:default", ["SET", "t:a", "1"]),
        verdict("3:default", ["SET", "t:b", "1"]),
    ]
    refused, *others = process.go(verdicts=verdicts).results
    assert refused.startswith("WRONGTYPE")
    assert others == ["gone", "settled"]
    assert redis_client.hkeys(IN_PROGRESS) == [b"1:default"]
    assert counter(redis_client, "failed") == 1


def test_basic_mode_writes_verdicts_unfenced_and_counts_them(basic: Traveller, redis_client: redis.Redis) -> None:
    one = verdict("1:default", ["SET", "t:a", "1"], beside=[["SET", "t:b", "1"]])
    assert basic.go(verdicts=[one], done=["2:default", "3:default"]).results == ["settled"]
    assert redis_client.exists("t:a", "t:b") == 2
    assert (counter(redis_client, "failed"), counter(redis_client, "processed")) == (1, 2)
    assert not redis_client.exists("t:beats", IN_PROGRESS)


@pytest.mark.parametrize("number", [1, 2, 999, 1000, 1001, 2000, 2001])
def test_successes_are_settled_and_counted_whatever_their_number(
    number: int, process: Traveller, redis_client: redis.Redis
) -> None:
    tokens = [f"{n}:default" for n in range(1, number + 1)]
    hold(redis_client, *tokens, f"{number + 1}:default")
    process.go(done=tokens)
    assert counter(redis_client, "processed") == number
    assert redis_client.hkeys(IN_PROGRESS) == [f"{number + 1}:default".encode()]


def test_counters_of_what_did_not_happen_are_not_touched(process: Traveller, redis_client: redis.Redis) -> None:
    hold(redis_client, "1:default", "2:default")
    process.go(done=["1:default"])
    assert not redis_client.exists("t:stats:failed")
    redis_client.delete("t:stats:processed")
    process.go(verdicts=[verdict("2:default", ["SET", "t:a", "1"])])
    assert (counter(redis_client, "failed"), redis_client.exists("t:stats:processed")) == (1, 0)


@pytest.mark.parametrize("damaged", ["t:stats:processed", "hour"])
def test_a_damaged_counter_stops_nothing(damaged: str, process: Traveller, redis_client: redis.Redis) -> None:
    hold(redis_client, "1:default")
    hour = int(redis_client.time()[0]) // 3600
    redis_client.rpush(f"t:throughput:{hour}" if damaged == "hour" else damaged, "no counter")
    process.go(done=["1:default"])
    assert not redis_client.exists(IN_PROGRESS)


# Fetching


def test_a_trip_that_wants_nothing_looks_at_no_queue(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.sadd("t:paused_queues", "default")
    redis_client.rpush("t:bell:low", "1")
    landing = process.go(0, "default", "low")
    assert (landing.paused, landing.dry, landing.jobs) == (frozenset(), False, [])
    assert redis_client.exists("t:bell:low")


@pytest.mark.parametrize(("wanted", "dry"), [(1, False), (2, False), (3, True)])
def test_queues_are_dry_only_when_they_had_less_than_was_wanted(
    wanted: int, dry: bool, process: Traveller, redis_client: redis.Redis
) -> None:
    push(redis_client, "default", "a", "b")
    redis_client.rpush("t:bell:default", "1")
    landing = process.go(wanted)
    assert landing.dry is dry
    assert bool(redis_client.exists("t:bell:default")) is not dry
    assert [len(raws) for _, raws in landing.jobs] == [min(wanted, 2)]


@pytest.mark.parametrize("reliable", [True, False])
def test_empty_queues_give_nothing_at_all(reliable: bool, store: Store, redis_client: redis.Redis) -> None:
    landing = Traveller(store, reliable=reliable).go(3, "a", "b")
    assert (landing.jobs, landing.errors, landing.dry) == ([], [], True)
    assert not redis_client.exists(IN_PROGRESS)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_basic_mode_takes_exactly_what_it_wants(number: int, basic: Traveller, redis_client: redis.Redis) -> None:
    push(redis_client, "default", "a", "b", "c", "d")
    assert basic.fetch(number) == [("default", raw) for raw in [b"a", b"b", b"c", b"d"][:number]]
    assert len(queued(redis_client)) == 4 - number


def test_tokens_go_on_from_one_queue_to_the_next(process: Traveller, redis_client: redis.Redis) -> None:
    push(redis_client, "a", "1", "2", "3")
    push(redis_client, "b", "4", "5")
    landing = process.go(5, ("a", 2), ("b", 5))
    assert landing.jobs == [("a", [b"1", b"2"]), ("b", [b"4", b"5"]), ("a", [b"3"])]
    assert redis_client.hgetall(IN_PROGRESS) == {
        b"1:a": b"1",
        b"2:a": b"2",
        b"3:b": b"4",
        b"4:b": b"5",
        b"5:a": b"3",
    }


def test_a_damaged_hash_puts_the_jobs_back_and_tries_no_further_queue(
    process: Traveller, redis_client: redis.Redis
) -> None:
    push(redis_client, "a", "1", "2", "3")
    push(redis_client, "b", "4")
    redis_client.rpush("t:bell:a", "1")
    redis_client.set(IN_PROGRESS, "no hash")
    landing = process.go(2, "a", "b")
    assert (landing.jobs, landing.dry) == ([], False)
    [error] = landing.errors
    assert error.startswith("in progress: WRONGTYPE")
    assert queued(redis_client, "a") == [b"3", b"2", b"1"]
    assert queued(redis_client, "b") == [b"4"]
    assert redis_client.exists("t:bell:a")


def test_a_damaged_queue_is_told_with_its_name_once_for_each_look(
    process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set("t:queue:a", "no list")
    push(redis_client, "b", "1")
    landing = process.go(2, "a", "b")
    assert all(re.match("a: WRONGTYPE", error) for error in landing.errors)
    assert len(landing.errors) == 2
    assert landing.jobs == [("b", [b"1"])]


def test_a_paused_queue_is_named_only_when_it_was_asked_for(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.sadd("t:paused_queues", "a", "elsewhere")
    push(redis_client, "a", "1")
    push(redis_client, "b", "2")
    landing = process.go(2, "a", "b")
    assert (landing.paused, landing.jobs) == (frozenset({"a"}), [("b", [b"2"])])


def test_when_all_is_paused_no_bell_is_silenced(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.sadd("t:paused_queues", "*")
    for queue in ("a", "b"):
        redis_client.rpush(f"t:bell:{queue}", "1")
    landing = process.go(2, "a", "b")
    assert (landing.paused, landing.dry) == (frozenset({"a", "b"}), True)
    assert redis_client.exists("t:bell:a", "t:bell:b") == 2


def test_the_earliest_entry_is_looked_for_in_schedule_and_retry(process: Traveller, redis_client: redis.Redis) -> None:
    assert process.go().due is None
    redis_client.zadd("t:retry", {"a": 30.5, "b": 40})
    assert process.go().due == 30.5
    redis_client.zadd("t:schedule", {"c": 20.25, "d": 50})
    assert process.go().due == 20.25
    redis_client.zadd("t:retry", {"e": 10})
    assert process.go().due == 10
    assert redis_client.exists("t:retry", "t:schedule") == 2


@pytest.mark.parametrize("damaged", ["t:retry", "t:schedule"])
def test_a_damaged_set_of_entries_hides_only_its_own(
    damaged: str, process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set(damaged, "no set")
    assert process.go().due is None


def test_each_trip_stamps_the_process_with_the_servers_time(process: Traveller, redis_client: redis.Redis) -> None:
    landing = process.go(progress="7 10")
    beats = cast(dict[bytes, bytes], redis_client.hgetall("t:beats"))
    [(identity, beat)] = beats.items()
    assert identity == ME.encode()
    assert re.fullmatch(rb"\d+\.\d{6} 7 10", beat)
    assert float(beat.split()[0]) == landing.now
