from __future__ import annotations

import redis

from cogworker_django.store.statistics import HOUR, HOUR_KEPT, Counted, Summary, hour_of
from cogworker_django.store.store import Store
from tests.stores import raw_job


def run(client: redis.Redis, commands: list[list[str | int | float]]) -> None:
    for command in commands:
        client.execute_command(*command)


def test_runs_are_counted_in_the_total_and_in_their_hour(store: Store, redis_client: redis.Redis) -> None:
    run(redis_client, store.statistics.counted(Counted.PROCESSED, 480_000))
    run(redis_client, store.statistics.counted(Counted.PROCESSED, 480_000, 4))
    run(redis_client, store.statistics.counted(Counted.FAILED, 480_000, 2))
    assert redis_client.mget("t:stats:processed", "t:stats:failed") == [b"5", b"2"]
    assert redis_client.hgetall("t:throughput:480000") == {b"processed": b"5", b"failed": b"2"}
    assert 0 < redis_client.ttl("t:throughput:480000") <= HOUR_KEPT


def test_the_amount_may_stand_for_a_number_that_is_known_later(store: Store) -> None:
    commands = store.statistics.counted(Counted.FAILED, 7, "$n")
    assert [command[-1] for command in commands[:2]] == ["$n", "$n"]


def test_an_hour_is_numbered_from_the_epoch() -> None:
    assert (hour_of(0.0), hour_of(3_599.9), hour_of(3_600.0)) == (0, 0, 1)


def test_the_series_goes_from_the_oldest_to_the_current_hour_with_zeros(
    store: Store, redis_client: redis.Redis
) -> None:
    current = hour_of(store.jobsets.now())
    run(redis_client, store.statistics.counted(Counted.PROCESSED, current, 3))
    run(redis_client, store.statistics.counted(Counted.FAILED, current - 2, 1))
    series = store.statistics.series(4)
    assert [(hour.processed, hour.failed) for hour in series] == [(0, 0), (0, 1), (0, 0), (3, 0)]
    assert [hour.start for hour in series] == [n * HOUR for n in range(current - 3, current + 1)]
    assert len(store.statistics.series()) == 24


def test_a_damaged_hour_counts_as_idle(store: Store, redis_client: redis.Redis) -> None:
    current = hour_of(store.jobsets.now())
    redis_client.set(f"t:throughput:{current}", "no hash")
    redis_client.hset(f"t:throughput:{current - 1}", "processed", "many")
    assert [(hour.processed, hour.failed) for hour in store.statistics.series(2)] == [(0, 0), (0, 0)]


def test_the_summary_of_an_empty_server_is_all_zeros(store: Store) -> None:
    assert store.statistics.summary() == Summary(
        processed=0, failed=0, enqueued=0, scheduled_size=0, retry_size=0, dead_size=0
    )


def test_the_summary_counts_queues_and_sets(store: Store, redis_client: redis.Redis) -> None:
    redis_client.mset({"t:stats:processed": 10, "t:stats:failed": 3})
    redis_client.sadd("t:queues", *(f"q{n}" for n in range(600)))
    redis_client.lpush("t:queue:q0", raw_job(), raw_job())
    redis_client.lpush("t:queue:q599", raw_job())
    redis_client.lpush("t:queue:unlisted", raw_job())
    for key, number in (("schedule", 1), ("retry", 2), ("dead", 3)):
        redis_client.zadd(f"t:{key}", {str(n): n for n in range(number)})
    assert store.statistics.summary() == Summary(
        processed=10, failed=3, enqueued=3, scheduled_size=1, retry_size=2, dead_size=3
    )


def test_damaged_keys_count_as_zero_and_do_not_hide_the_others(store: Store, redis_client: redis.Redis) -> None:
    redis_client.lpush("t:stats:processed", "no number")
    redis_client.set("t:stats:failed", "no number")
    redis_client.set("t:schedule", "no set")
    redis_client.set("t:queue:broken", "no list")
    redis_client.sadd("t:queues", "broken", "sound", b"\xff")
    redis_client.lpush("t:queue:sound", raw_job())
    redis_client.zadd("t:dead", {"x": 1})
    assert store.statistics.summary() == Summary(
        processed=0, failed=0, enqueued=1, scheduled_size=0, retry_size=0, dead_size=1
    )
    redis_client.delete("t:queues")
    redis_client.set("t:queues", "no set")
    assert store.statistics.summary().enqueued == 0
