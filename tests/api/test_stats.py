from __future__ import annotations

import redis

from cogworker_django.api.stats import Stats, Throughput
from cogworker_django.store.statistics import hour_of
from cogworker_django.store.store import Store
from tests.stores import raw_job


def test_stats_are_the_totals_and_sizes_of_the_moment(store: Store, redis_client: redis.Redis) -> None:
    redis_client.mset({"t:stats:processed": 10, "t:stats:failed": 3})
    redis_client.sadd("t:queues", "a", "b")
    redis_client.lpush("t:queue:a", raw_job(), raw_job())
    redis_client.lpush("t:queue:b", raw_job())
    for key, number in (("schedule", 1), ("retry", 2), ("dead", 4)):
        redis_client.zadd(f"t:{key}", {str(n): n for n in range(number)})
    stats = Stats(store)
    redis_client.flushall()
    assert (stats.processed, stats.failed, stats.enqueued) == (10, 3, 3)
    assert (stats.scheduled_size, stats.retry_size, stats.dead_size) == (1, 2, 4)


def test_throughput_is_a_series_of_hours_that_ends_now(store: Store, redis_client: redis.Redis) -> None:
    hour = hour_of(store.jobsets.now())
    redis_client.hset(f"t:throughput:{hour}", "processed", 5)
    series = Throughput.series(3, store)
    assert [(each.start, each.processed, each.failed) for each in series] == [
        ((hour - 2) * 3_600, 0, 0),
        ((hour - 1) * 3_600, 0, 0),
        (hour * 3_600, 5, 0),
    ]
