"""No single call holds the server up, however much there is to move or delete (case B059)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from cogworker_django.api.jobsets import DeadSet, RetrySet
from cogworker_django.api.queue import Queue
from cogworker_django.store.store import Store
from tests.slowlog import LIMIT, Slowlog, best
from tests.stores import jids, open_store, queued, raw_job

STEP = 10_000  # jobs that the test itself writes in one command
pytestmark = pytest.mark.slow


@pytest.fixture
def slowlog(redis_client: redis.Redis) -> Iterator[Slowlog]:
    log = Slowlog(redis_client)
    yield log
    log.close()


def raws(number: int) -> list[bytes]:
    return [raw_job(f"{n:024}", args=[n, "x" * 100]) for n in range(number)]


def fill_queue(client: redis.Redis, jobs: list[bytes]) -> None:
    for first in range(0, len(jobs), STEP):
        client.lpush("t:queue:default", *jobs[first : first + STEP])
    client.sadd("t:queues", "default")


def fill_set(client: redis.Redis, name: str, jobs: list[bytes]) -> None:
    for first in range(0, len(jobs), STEP):
        client.zadd(f"t:{name}", {raw: first + n for n, raw in enumerate(jobs[first : first + STEP])})


def test_a_queue_of_200_000_is_cleared(store: Store, redis_client: redis.Redis, slowlog: Slowlog) -> None:
    def clear() -> int:
        fill_queue(redis_client, raws(200_000))
        slowlog.reset()
        assert Queue("default", store).clear() == 200_000
        assert redis_client.keys() == []
        return slowlog.longest()

    assert best(clear) < LIMIT


def test_a_job_in_a_queue_of_200_000_is_deleted(store: Store, redis_client: redis.Redis, slowlog: Slowlog) -> None:
    def delete() -> int:
        redis_client.delete("t:queue:default")
        fill_queue(redis_client, raws(200_000))
        slowlog.reset()
        assert Queue("default", store).delete(f"{50_000:024}")
        assert redis_client.llen("t:queue:default") == 199_999
        return slowlog.longest()

    assert best(delete) < LIMIT


def test_20_000_dead_are_retried_in_order(store: Store, redis_client: redis.Redis, slowlog: Slowlog) -> None:
    jobs = raws(20_000)

    def retry() -> int:
        redis_client.delete("t:queue:default")
        fill_set(redis_client, "dead", jobs)
        slowlog.reset()
        assert DeadSet(store).retry_all() == 20_000
        assert not redis_client.exists("t:dead")
        longest = slowlog.longest()
        assert jids(queued(redis_client))[::-1] == jids(jobs)
        return longest

    assert best(retry) < LIMIT


def test_50_000_retries_are_killed_and_the_dead_are_cleared(
    redis_url: str, redis_client: redis.Redis, slowlog: Slowlog
) -> None:
    store = open_store(redis_url, dead_max_jobs=20_000)

    def kill_and_clear() -> int:
        fill_set(redis_client, "retry", raws(50_000))
        slowlog.reset()
        assert RetrySet(store).kill_all() == 50_000
        assert DeadSet(store).size == 20_000
        assert DeadSet(store).clear() == 20_000
        return slowlog.longest()

    assert best(kill_and_clear) < LIMIT


def test_a_set_of_200_000_is_searched(store: Store, redis_client: redis.Redis, slowlog: Slowlog) -> None:
    fill_set(redis_client, "retry", raws(200_000))
    slowlog.reset()

    def search() -> int:
        assert RetrySet(store).find("unknown") is None
        return slowlog.longest()

    assert best(search) < LIMIT
