from __future__ import annotations

import time

import pytest
import redis

from cogworker_django.core.dispatch import Push
from cogworker_django.core.errors import RedisRefused, RedisUnavailable
from cogworker_django.store.queues import BATCH_BYTES
from cogworker_django.store.store import Store
from tests.stores import TOUCHY_ARGS, jids, members, open_store, queued, raw_job, scored
from tests.support import StartServer

BELL_TOKENS = 16


def job(number: int = 0, queue: str = "default", *, delay: float | None = None, at: float | None = None) -> Push:
    raw = raw_job(f"{number:024}", queue)
    return Push({"queue": queue}, raw, delay, at)


def jobs(number: int, queue: str = "default") -> list[Push]:
    return [job(n, queue) for n in range(number)]


def numbers(raws: list[bytes]) -> list[int]:
    return [int(jid) for jid in jids(raws)]


def test_a_pushed_job_lies_on_its_queue_byte_for_byte_and_the_queue_is_listed(
    store: Store, redis_client: redis.Redis
) -> None:
    raw = raw_job(args=TOUCHY_ARGS)
    store.queues.push([Push({"queue": "low"}, raw, None, None)])
    assert queued(redis_client, "low") == [raw]
    assert redis_client.smembers("t:queues") == {b"low"}


def test_the_first_pushed_is_the_next_to_run(store: Store, redis_client: redis.Redis) -> None:
    store.queues.push(jobs(3))
    store.queues.push([job(3)])
    assert numbers(queued(redis_client))[::-1] == [0, 1, 2, 3]


@pytest.mark.parametrize(("pushed", "tokens"), [(1, 1), (5, 5), (16, 16), (40, BELL_TOKENS)])
def test_a_push_leaves_a_token_a_job_at_the_bell_and_sixteen_at_most(
    pushed: int, tokens: int, store: Store, redis_client: redis.Redis
) -> None:
    store.queues.push(jobs(pushed))
    assert redis_client.llen("t:bell:default") == tokens


def test_a_bell_that_is_long_enough_gets_no_more_tokens(store: Store, redis_client: redis.Redis) -> None:
    for _ in range(20):
        store.queues.push([job()])
    assert redis_client.llen("t:bell:default") == BELL_TOKENS


def test_a_bell_is_filled_up_and_not_beyond(store: Store, redis_client: redis.Redis) -> None:
    store.queues.push(jobs(10))
    store.queues.push(jobs(10))
    assert redis_client.llen("t:bell:default") == BELL_TOKENS


def test_a_bulk_of_more_than_a_thousand_keeps_its_order(store: Store, redis_client: redis.Redis) -> None:
    redis_client.config_resetstat()
    store.queues.push(jobs(2500))
    assert numbers(queued(redis_client))[::-1] == list(range(2500))
    stats = redis_client.info("commandstats")
    assert stats["cmdstat_lpush"]["calls"] == 3 + 1  # three batches, and the bell once


def test_jobs_of_several_queues_and_of_the_schedule_go_each_to_its_place(
    store: Store, redis_client: redis.Redis
) -> None:
    store.queues.push([job(1, "a"), job(2, "b"), job(3, "a", at=5e9), job(4, "a"), job(5, "a", delay=60)])
    assert numbers(queued(redis_client, "a")) == [4, 1]
    assert numbers(queued(redis_client, "b")) == [2]
    assert numbers(members(redis_client, "schedule")) == [5, 3]
    assert redis_client.smembers("t:queues") == {b"a", b"b"}


@pytest.mark.parametrize("queue", ["a_b", "a:b", "inprogress", "ü-x", "q@h/p.1"])
def test_every_allowed_queue_name_keeps_its_jobs_apart(queue: str, store: Store, redis_client: redis.Redis) -> None:
    """Case B068."""
    store.queues.push([job(1, queue), job(2, "a")])
    assert numbers(queued(redis_client, queue)) == [1]


def test_nothing_is_written_when_the_queue_is_of_the_wrong_type(store: Store, redis_client: redis.Redis) -> None:
    """Case B046: the push raises, and leaves nothing behind."""
    redis_client.set("t:queue:default", "no list")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.queues.push(jobs(3))
    assert redis_client.keys("t:*") == [b"t:queue:default"]


def test_a_damaged_listing_or_bell_does_not_stop_a_push(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queues", "no set")
    redis_client.set("t:bell:default", "no list")
    store.queues.push([job()])
    assert len(queued(redis_client)) == 1


def test_a_full_server_refuses_a_push_and_a_schedule_and_nothing_is_written(start_server: StartServer) -> None:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    store.client.config_set("maxmemory", 1)
    for refused in ([job()], [job(delay=60)]):
        with pytest.raises(RedisRefused, match="maxmemory"):
            store.queues.push(refused)
    assert store.client.keys("*") == []
    store.client.config_set("maxmemory", 0)
    store.queues.push([job()])
    assert store.queue_reader.size("default") == 1
    store.client.close()


def test_a_server_away_is_told_to_who_pushes(start_server: StartServer) -> None:
    server = start_server()
    store = open_store(server.url)
    server.kill()
    with pytest.raises(RedisUnavailable):
        store.queues.push([job()])


def test_a_time_is_kept_to_the_microsecond(store: Store, redis_client: redis.Redis) -> None:
    store.queues.push([job(at=1_900_000_000.123456)])
    assert scored(redis_client, "schedule") == [(job().raw, 1_900_000_000.123456)]


def test_a_delay_counts_on_the_servers_clock(store: Store, redis_client: redis.Redis) -> None:
    before = store.jobsets.now()
    store.queues.push([job(delay=100.5)])
    [(_, due)] = scored(redis_client, "schedule")
    assert before + 100.5 <= due + 1e-6
    assert due <= store.jobsets.now() + 100.5


def test_only_a_new_earliest_entry_rings_the_schedules_bell(store: Store, redis_client: redis.Redis) -> None:
    rung = []
    for due in (200.0, 300.0, 200.0, 100.0):
        redis_client.delete("t:schedule_bell")
        store.queues.push([job(int(due), at=due)])
        rung.append(redis_client.llen("t:schedule_bell"))
    assert rung == [1, 0, 0, 1]


def test_one_earlier_job_among_many_rings_once(store: Store, redis_client: redis.Redis) -> None:
    store.queues.push([job(at=50.0)])
    redis_client.delete("t:schedule_bell")
    store.queues.push([job(n, at=float(100 - n)) for n in range(1, 90)])
    assert redis_client.llen("t:schedule_bell") == 1


def test_a_scheduled_job_lists_no_queue_and_rings_no_queues_bell(store: Store, redis_client: redis.Redis) -> None:
    store.queues.push([job(delay=60)])
    assert set(redis_client.keys("t:*")) == {b"t:schedule", b"t:schedule_bell"}


def test_a_schedule_of_the_wrong_type_is_refused_and_nothing_is_written(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set("t:schedule", "no set")
    with pytest.raises(RedisRefused):
        store.queues.push([job(delay=60)])
    assert redis_client.keys("t:*") == [b"t:schedule"]


def test_a_bulk_of_a_thousand_scheduled_jobs_is_one_call(store: Store, redis_client: redis.Redis) -> None:
    redis_client.config_resetstat()
    store.queues.push([job(n, at=time.time() + 60 + n) for n in range(1000)])
    assert redis_client.zcard("t:schedule") == 1000
    assert redis_client.info("commandstats")["cmdstat_zadd"]["calls"] == 1


def test_large_jobs_travel_in_several_calls(store: Store, redis_client: redis.Redis) -> None:
    """One huge command would be refused by the server, which then closes the connection."""
    store.queues.push(jobs(1))
    large = [Push({"queue": "default"}, b"x" * (BATCH_BYTES // 4), None, None) for _ in range(10)]
    redis_client.config_resetstat()
    store.queues.push(large)
    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == 3
    assert redis_client.llen(store.keys.queue("default")) == 11
