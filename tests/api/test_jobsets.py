from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import redis
from django.test import override_settings

from cogworker_django import job, runtime
from cogworker_django.api.jobsets import DeadSet, JobSet, RetrySet, ScheduledSet
from cogworker_django.api.queue import Queue
from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.store.store import Store
from tests.stores import TOUCHY_ARGS, jids, members, queued, raw_job, scored

SETS = [(ScheduledSet, "schedule"), (RetrySet, "retry"), (DeadSet, "dead")]
in_each_set = pytest.mark.parametrize(("kind", "key"), SETS, ids=[key for _, key in SETS])
NUMBERED = [f"{n:024}" for n in range(120)]


@job(queue="low")
def do_nothing(*values: Any) -> None: ...


def only(entries: JobSet) -> Any:
    [entry] = entries
    return entry


@in_each_set
def test_size_iteration_and_pages(store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str) -> None:
    entries = kind(store)
    assert (entries.size, list(entries), repr(entries)) == (0, [], f"<{kind.__name__}>")
    redis_client.zadd(f"t:{key}", {raw_job(jid): 1_000_000_000.5 + n for n, jid in enumerate(NUMBERED)})
    expected = NUMBERED[::-1] if key == "dead" else NUMBERED
    assert entries.size == 120
    assert [entry.jid for entry in entries] == expected
    assert [entry.jid for entry in entries.page(3, 4)] == expected[3:5]
    entry = entries.page(0, 0)[0]
    assert entry.at == datetime.fromtimestamp(entry.score, UTC)
    assert (entry.klass, entry.args, entry.kwargs, entry.queue) == ("demo.Job", [], {}, "default")


@in_each_set
def test_a_job_is_found_by_its_id(store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str) -> None:
    redis_client.zadd(f"t:{key}", {raw_job(jid): n for n, jid in enumerate(NUMBERED)})
    found = kind(store).find(NUMBERED[77])
    assert found is not None and found.score == 77
    assert kind(store).find("unknown") is None


@in_each_set
def test_retrying_puts_the_same_arguments_on_the_queue_at_once(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str
) -> None:
    redis_client.zadd(f"t:{key}", {raw_job(args=TOUCHY_ARGS): 4_000_000_000})
    entry = only(kind(store))
    assert entry.retry() is True
    assert entry.retry() is False
    [raw] = queued(redis_client)
    assert raw.startswith(raw_job(args=TOUCHY_ARGS)[:-1] + b',"enqueued_at":')
    assert redis_client.llen("t:bell:default") == 1


@in_each_set
def test_deleting_takes_the_attempts_along(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str
) -> None:
    redis_client.zadd(f"t:{key}", {raw_job(): 5})
    redis_client.rpush(f"t:job_attempts:{'0' * 24}", "{}")
    entry = only(kind(store))
    assert entry.delete() is True
    assert entry.delete() is False
    assert redis_client.keys() == []


@in_each_set
def test_killing_moves_to_dead_what_is_not_dead_yet(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str
) -> None:
    redis_client.zadd(f"t:{key}", {raw_job(): 5})
    entry = only(kind(store))
    assert entry.kill() is (key != "dead")
    assert entry.kill() is False
    assert members(redis_client, "dead") == [raw_job()]


@pytest.mark.parametrize(
    ("when", "due"),
    [
        (4_000_000_000, 4_000_000_000.0),
        (4_000_000_000.25, 4_000_000_000.25),
        (datetime(2040, 1, 1, 12, tzinfo=UTC), 2_209_032_000.0),
    ],
)
@in_each_set
def test_rescheduling_keeps_the_bytes_and_sets_the_time(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str, when: datetime | float, due: float
) -> None:
    raw = raw_job(args=TOUCHY_ARGS, at=5.0)
    redis_client.zadd(f"t:{key}", {raw: 5})
    assert only(kind(store)).reschedule(when) is True
    assert scored(redis_client, "retry" if key == "dead" else key) == [(raw, due)]


def test_a_job_pushed_with_a_delay_is_scheduled_and_comes_through_every_set_unchanged(
    redis_url: str, redis_client: redis.Redis
) -> None:
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "t:"}):
        jid = do_nothing.perform_in(300, *TOUCHY_ARGS)
        scheduled = ScheduledSet().find(str(jid))
        assert scheduled is not None
        assert scheduled.score == pytest.approx(runtime.current().store.jobsets.now() + 300, abs=5)
        scheduled.reschedule(1)
        only(ScheduledSet()).kill()
        only(DeadSet()).reschedule(2)
        only(RetrySet()).retry()
        [queued_job] = Queue("low")
    assert json.dumps(queued_job.args) == json.dumps(TOUCHY_ARGS)
    assert (queued_job.jid, queued_job.kwargs) == (jid, {})


def test_a_small_delay_is_counted_from_now_on_the_servers_clock(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:schedule", {raw_job(): 5})
    assert only(ScheduledSet(store)).reschedule(timedelta(minutes=2))
    [(_, due)] = scored(redis_client, "schedule")
    assert due == pytest.approx(store.jobsets.now() + 120, abs=5)


def test_a_naive_datetime_is_meant_in_the_current_zone(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:retry", {raw_job(): 5})
    with override_settings(TIME_ZONE="America/New_York"):
        only(RetrySet(store)).reschedule(datetime(2040, 7, 1, 12))
    assert scored(redis_client, "retry") == [(raw_job(), datetime(2040, 7, 1, 16, tzinfo=UTC).timestamp())]


def test_an_entry_that_is_gone_is_not_brought_back_by_rescheduling(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:retry", {raw_job(): 5})
    entry = only(RetrySet(store))
    entry.delete()
    assert entry.reschedule(10) is False
    assert redis_client.keys() == []


@pytest.mark.parametrize("when", [float("nan"), 1e300, "soon", date(2040, 1, 1), None])
def test_a_time_that_is_none_is_refused_before_anything_is_written(
    store: Store, redis_client: redis.Redis, when: Any
) -> None:
    redis_client.zadd("t:retry", {raw_job(): 5})
    with pytest.raises((TypeError, ValueError)):
        only(RetrySet(store)).reschedule(when)
    assert scored(redis_client, "retry") == [(raw_job(), 5.0)]


@in_each_set
def test_damaged_entries_are_shown_and_can_be_deleted_but_not_retried(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str
) -> None:
    redis_client.zadd(f"t:{key}", {b"not json": float("-inf"), b"{}": 1, raw_job(): 2, b"null": float("inf")})
    entries = sorted(kind(store), key=lambda entry: entry.score)
    assert [entry.klass for entry in entries] == ["(unparseable)", "(unparseable)", "demo.Job", "(unparseable)"]
    assert entries[0].queue is None
    assert (entries[0].at.year, entries[-1].at.year) == (1, 9999)
    with pytest.raises(UnreadablePayload, match="names no queue"):
        entries[0].retry()
    assert [entry.delete() for entry in entries] == [True] * 4


def test_what_redis_refuses_raises_and_leaves_the_entry(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:default", "no list")
    redis_client.set("t:dead", "no set")
    redis_client.zadd("t:retry", {raw_job(): 5})
    entry = only(RetrySet(store))
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        entry.retry()
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        entry.kill()
    assert scored(redis_client, "retry") == [(raw_job(), 5.0)]


@in_each_set
def test_retrying_all_moves_everything_that_can_run_and_leaves_the_rest(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str
) -> None:
    redis_client.set("t:queue:broken", "no list")
    raws = {raw_job(f"{n:024}"): float(n) for n in range(2_500)}
    stay = {b"not json": 3.5, raw_job("b" * 24, "broken"): 1_500.5, b"null": 2_600.0}
    redis_client.zadd(f"t:{key}", raws | stay)
    assert kind(store).retry_all() == 2_500
    assert dict(scored(redis_client, key)) == stay
    assert jids(queued(redis_client))[::-1] == [json.loads(raw)["jid"] for raw in raws]


@in_each_set
def test_clearing_deletes_all_and_their_attempts(
    store: Store, redis_client: redis.Redis, kind: type[JobSet], key: str
) -> None:
    redis_client.zadd(f"t:{key}", {raw_job(f"{n:024}"): 5 for n in range(2_345)} | {b"null": 5})
    redis_client.rpush(f"t:job_attempts:{1_234:024}", "{}")
    assert kind(store).clear() == 2_346
    assert kind(store).clear() == 0
    assert redis_client.keys() == []


def test_all_retries_can_be_killed(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:retry", {raw_job(f"{n:024}"): 5 for n in range(1_200)})
    assert RetrySet(store).kill_all() == 1_200
    assert (redis_client.zcard("t:retry"), redis_client.zcard("t:dead")) == (0, 1_200)
