from __future__ import annotations

import json
import time

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.jobsets import Promotion, SetName
from cogworker_django.store.store import Store
from tests.stores import jids, members, open_store, queued, raw_job, scored
from tests.support import StartServer

BELL_TOKENS = 16


def test_promotion_pushes_the_new_payload_takes_the_entry_out_and_lists_the_queue(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.zadd("t:schedule", {raw_job(): 1})
    outcomes = store.jobsets.promote(SetName.SCHEDULE, [Promotion(raw_job(), "high", b"the payload")])
    assert outcomes == ["moved"]
    assert queued(redis_client, "high") == [b"the payload"]
    assert redis_client.zcard("t:schedule") == 0
    assert redis_client.smembers("t:queues") == {b"high"}


def test_promotion_leaves_one_token_a_job_at_the_bell_and_sixteen_at_most(
    store: Store, redis_client: redis.Redis
) -> None:
    raws = [raw_job(f"{n:024}") for n in range(20)]
    redis_client.zadd("t:retry", dict.fromkeys(raws, 1))
    store.jobsets.promote(SetName.RETRY, [Promotion(raw, "few", raw) for raw in raws[:3]])
    store.jobsets.promote(SetName.RETRY, [Promotion(raw, "many", raw) for raw in raws[3:]])
    assert redis_client.llen("t:bell:few") == 3
    assert redis_client.llen("t:bell:many") == BELL_TOKENS


def test_an_entry_is_promoted_once_and_then_it_is_gone(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:dead", {raw_job(): 1})
    entry = Promotion(raw_job(), "default", raw_job())
    assert store.jobsets.promote(SetName.DEAD, [entry, entry]) == ["moved", "gone"]
    assert redis_client.llen("t:queue:default") == 1


def test_a_queue_of_the_wrong_type_keeps_its_entry_and_lets_the_others_go(
    store: Store, redis_client: redis.Redis
) -> None:
    broken, sound = raw_job("a" * 24, "broken"), raw_job("b" * 24)
    redis_client.set("t:queue:broken", "no list")
    redis_client.zadd("t:schedule", {broken: 1, sound: 2})
    entries = [Promotion(broken, "broken", broken), Promotion(sound, "default", sound)]
    refused, moved = store.jobsets.promote(SetName.SCHEDULE, entries)
    assert refused.startswith("WRONGTYPE")
    assert moved == "moved"
    assert members(redis_client, "schedule") == [broken]


def test_a_damaged_bell_and_a_damaged_list_of_queues_do_not_stop_a_promotion(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set("t:bell:default", "no list")
    redis_client.set("t:queues", "no set")
    redis_client.zadd("t:schedule", {raw_job(): 1})
    assert store.jobsets.promote(SetName.SCHEDULE, [Promotion(raw_job(), "default", raw_job())]) == ["moved"]
    assert redis_client.llen("t:queue:default") == 1


def test_a_set_of_the_wrong_type_is_refused_and_nothing_is_pushed(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:schedule", "no set")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.jobsets.promote(SetName.SCHEDULE, [Promotion(raw_job(), "default", raw_job())])
    assert not redis_client.exists("t:queue:default")


def test_a_full_server_still_promotes_kills_buries_and_postpones(start_server: StartServer) -> None:
    store = open_store(start_server().url)
    raws = [raw_job(letter * 24) for letter in "abcd"]
    store.client.zadd("t:schedule", dict.fromkeys(raws, 1))
    store.client.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        store.client.set("more", "text")
    assert store.jobsets.promote(SetName.SCHEDULE, [Promotion(raws[0], "default", raws[0])]) == ["moved"]
    assert store.jobsets.kill(SetName.SCHEDULE, [raws[1]]) == ["moved"]
    assert store.jobsets.bury(SetName.SCHEDULE, [(raws[2], b"wrapper")]) == ["moved"]
    assert store.jobsets.postpone(SetName.SCHEDULE, [raws[3]], 60) == 1
    assert store.jobsets.reschedule(SetName.SCHEDULE, raws[3], at=5.0) == "moved"
    store.client.close()


def test_burying_files_the_wrapper_now_and_counts_a_failure(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:retry", {b"not json": 0})
    before = store.jobsets.now()
    assert store.jobsets.bury(SetName.RETRY, [(b"not json", b"wrapper"), (b"unknown", b"other")]) == [
        "moved",
        "gone",
    ]
    [(wrapper, died)] = scored(redis_client, "dead")
    assert wrapper == b"wrapper"
    assert before <= died <= store.jobsets.now()
    assert redis_client.get("t:stats:failed") == b"1"
    hour = f"t:throughput:{int(died // 3600)}"
    assert redis_client.hgetall(hour) == {b"failed": b"1"}
    assert 0 < redis_client.ttl(hour) <= 90_000


def test_a_killed_entry_keeps_its_bytes(store: Store, redis_client: redis.Redis) -> None:
    odd = b'{ "jid" : "x",  "args":[1.0, 130775545883395173] }'
    redis_client.zadd("t:schedule", {odd: 9_999_999_999})
    assert store.jobsets.kill(SetName.SCHEDULE, [odd]) == ["moved"]
    assert members(redis_client, "dead") == [odd]
    assert redis_client.zcard("t:schedule") == 0


def test_a_dead_set_of_the_wrong_type_keeps_what_should_have_been_killed(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set("t:dead", "no set")
    redis_client.zadd("t:retry", {raw_job(): 1})
    assert store.jobsets.kill(SetName.RETRY, [raw_job()])[0].startswith("WRONGTYPE")
    assert redis_client.zcard("t:retry") == 1


def test_rescheduling_changes_the_score_and_not_one_byte(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:schedule", {raw_job(at=5.5): 5.5})
    assert store.jobsets.reschedule(SetName.SCHEDULE, raw_job(at=5.5), at=2_000_000_000.123456) == "moved"
    assert scored(redis_client, "schedule") == [(raw_job(at=5.5), 2_000_000_000.123456)]
    assert store.jobsets.reschedule(SetName.SCHEDULE, b"unknown", at=1.0) == "gone"
    assert redis_client.zcard("t:schedule") == 1


def test_rescheduling_by_a_delay_counts_on_the_servers_clock(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:retry", {raw_job(): 5})
    now = store.jobsets.now()
    store.jobsets.reschedule(SetName.RETRY, raw_job(), delay=100.0)
    assert redis_client.zscore("t:retry", raw_job()) == pytest.approx(now + 100, abs=5)


def test_only_an_entry_that_becomes_the_earliest_rings_the_schedules_bell(
    store: Store, redis_client: redis.Redis
) -> None:
    first, second = raw_job("a" * 24), raw_job("b" * 24)
    redis_client.zadd("t:schedule", {first: 100, second: 200})
    store.jobsets.reschedule(SetName.SCHEDULE, second, at=300.0)
    assert redis_client.llen("t:schedule_bell") == 0
    store.jobsets.reschedule(SetName.SCHEDULE, second, at=50.0)
    assert redis_client.llen("t:schedule_bell") == 1


def test_a_rescheduled_dead_job_waits_among_the_retries(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:dead", {raw_job(): 5})
    assert store.jobsets.reschedule(SetName.DEAD, raw_job(), at=3_000_000_000.0) == "moved"
    assert redis_client.zcard("t:dead") == 0
    assert redis_client.zscore("t:retry", raw_job()) == 3_000_000_000.0
    assert redis_client.llen("t:schedule_bell") == 1


def test_postponing_moves_only_what_is_still_there(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:schedule", {raw_job(): 5})
    now = store.jobsets.now()
    assert store.jobsets.postpone(SetName.SCHEDULE, [raw_job(), b"gone"], 60) == 1
    [(member, due)] = scored(redis_client, "schedule")
    assert member == raw_job()
    assert due == pytest.approx(now + 60, abs=5)


def test_removing_forgets_the_attempts_of_what_was_removed_and_of_nothing_else(
    store: Store, redis_client: redis.Redis
) -> None:
    removed, gone = raw_job("a" * 24), raw_job("b" * 24)
    redis_client.zadd("t:retry", {removed: 1, b"not json": 2})
    for letter in "ab":
        redis_client.rpush(f"t:job_attempts:{letter * 24}", "{}")
    assert store.jobsets.remove(SetName.RETRY, [removed, gone, b"not json"]) == 2
    assert redis_client.zcard("t:retry") == 0
    assert redis_client.keys("t:job_attempts:*") == [f"t:job_attempts:{'b' * 24}".encode()]


def test_dead_keeps_the_newest_jobs_up_to_its_limit(redis_url: str, redis_client: redis.Redis) -> None:
    store = open_store(redis_url, dead_max_jobs=3)
    for n in range(5):
        redis_client.zadd("t:retry", {raw_job(f"{n:024}"): 1})
        store.jobsets.kill(SetName.RETRY, [raw_job(f"{n:024}")])
    assert jids(members(redis_client, "dead")) == [f"{n:024}" for n in (2, 3, 4)]


def test_dead_forgets_what_is_older_than_its_age(redis_url: str, redis_client: redis.Redis) -> None:
    store = open_store(redis_url, dead_max_age=100.0)
    now = store.jobsets.now()
    redis_client.zadd("t:dead", {b"old": now - 101, b"young": now - 50})
    redis_client.zadd("t:retry", {raw_job(): 1})
    store.jobsets.kill(SetName.RETRY, [raw_job()])
    assert members(redis_client, "dead") == [b"young", raw_job()]


def test_dead_can_be_trimmed_without_filing_anything(redis_url: str, redis_client: redis.Redis) -> None:
    store = open_store(redis_url, dead_max_jobs=10, dead_max_age=100.0)
    now = store.jobsets.now()
    redis_client.zadd("t:dead", {f"old {n}": now - 200 for n in range(1_500)} | {"young": now})
    assert [store.jobsets.trim_dead() for _ in range(3)] == [1_000, 500, 0]
    assert members(redis_client, "dead") == [b"young"]


def test_the_trim_commands_for_others_keep_both_limits(redis_url: str, redis_client: redis.Redis) -> None:
    store = open_store(redis_url, dead_max_jobs=3, dead_max_age=100.0)
    redis_client.zadd("t:dead", {"a": 800, "b": 901, "c": 950, "d": 990, "e": 1000})
    for command in store.jobsets.dead_trim_commands(1_000.0):
        redis_client.execute_command(*command)
    assert members(redis_client, "dead") == [b"c", b"d", b"e"]
    for command in store.jobsets.dead_trim_commands(1_060.0):
        redis_client.execute_command(*command)
    assert members(redis_client, "dead") == [b"d", b"e"]


def test_filing_one_more_into_a_large_dead_set_costs_no_more_than_into_a_small_one(
    redis_url: str, redis_client: redis.Redis
) -> None:
    store = open_store(redis_url, dead_max_jobs=25_000)
    raws = [raw_job(f"{n:024}") for n in range(25_500)]
    redis_client.zadd("t:retry", dict.fromkeys(raws, 1))

    def fastest(some: list[bytes]) -> float:
        times = []
        for raw in some:
            began = time.perf_counter()
            store.jobsets.kill(SetName.RETRY, [raw])
            times.append(time.perf_counter() - began)
        return sorted(times)[len(times) // 2]

    small = fastest(raws[:50])
    for first in range(50, 25_000, 1_000):
        store.jobsets.kill(SetName.RETRY, raws[first : first + 1_000])
    large = fastest(raws[-50:])
    assert store.jobsets.size(SetName.DEAD) == 25_000
    assert large < small * 5 + 0.001


def test_payloads_are_not_in_the_way_of_a_big_batch_of_promotions(store: Store, redis_client: redis.Redis) -> None:
    raws = [raw_job(f"{n:024}") for n in range(1_000)]
    redis_client.zadd("t:schedule", {raw: n for n, raw in enumerate(raws)})
    assert (
        store.jobsets.promote(SetName.SCHEDULE, [Promotion(raw, "default", raw) for raw in raws]) == ["moved"] * 1_000
    )
    # The earliest is the next to run: at the right end.
    assert jids(queued(redis_client))[::-1] == [json.loads(raw)["jid"] for raw in raws]
