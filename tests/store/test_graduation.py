from __future__ import annotations

import json

import pytest
import redis

from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.store.graduation import routed
from cogworker_django.store.jobsets import SetName
from cogworker_django.store.store import Store
from tests.stores import TOUCHY_ARGS, jids, members, queued, raw_job, scored

DAMAGED = [b"not json", b"{}", b"null", b"[]", b"", b'{"queue":null}', b'{"queue":5}', b'{"queue":""}']
UNREADABLE_QUEUES = [b'{"queue":"a\\nb"}', b'{"queue":"a b"}', b'{"queue":"*"}']
TIMED = [SetName.SCHEDULE, SetName.RETRY]


@pytest.mark.parametrize("name", TIMED)
def test_a_due_entry_goes_to_its_queue_and_a_future_one_stays(
    store: Store, redis_client: redis.Redis, name: SetName
) -> None:
    now = store.jobsets.now()
    due, future = raw_job("a" * 24, "high"), raw_job("b" * 24)
    redis_client.zadd(f"t:{name}", {due: now - 1, future: now + 1000})
    result = store.graduation.due(name)
    assert (result.found, result.moved, result.gone) == (1, 1, 0)
    assert jids(queued(redis_client, "high")) == ["a" * 24]
    assert members(redis_client, name) == [future]


def test_enqueued_at_is_stamped_anew_and_at_is_kept(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:schedule", {raw_job(at=1.5, enqueued_at=2.5): 1.5})
    result = store.graduation.due(SetName.SCHEDULE)
    [raw] = queued(redis_client)
    item = json.loads(raw)
    assert item["enqueued_at"] == pytest.approx(result.now, abs=0.001)
    assert item["at"] == 1.5


@pytest.mark.parametrize("name", TIMED)
def test_arguments_pass_through_a_set_byte_for_byte(store: Store, redis_client: redis.Redis, name: SetName) -> None:
    raw = raw_job(args=TOUCHY_ARGS, kwargs={"ünï": [10**40, -0.0, 1e22]}, extra={"z": 1, "a": [[]]})
    redis_client.zadd(f"t:{name}", {raw: 1})
    result = store.graduation.due(name)
    [pushed] = queued(redis_client)
    head, stamp = pushed.rsplit(b',"enqueued_at":', 1)
    assert head + b"}" == raw.replace(b"1e+22", b"1e22")
    assert float(stamp.rstrip(b"}")) == result.now
    args = json.loads(pushed)["args"]
    assert [type(value) for value in args] == [type(value) for value in TOUCHY_ARGS]
    assert args == TOUCHY_ARGS


@pytest.mark.parametrize("name", TIMED)
def test_what_is_no_job_is_buried_and_counted_and_the_rest_still_goes(
    store: Store, redis_client: redis.Redis, name: SetName
) -> None:
    damaged = DAMAGED + UNREADABLE_QUEUES
    redis_client.zadd(f"t:{name}", dict.fromkeys(damaged, 0) | {raw_job(): 1})
    result = store.graduation.due(name)
    assert sorted(result.buried) == sorted(damaged)
    assert result.moved == 1
    assert redis_client.zcard(f"t:{name}") == 0
    assert redis_client.get("t:stats:failed") == str(len(damaged)).encode()
    wrappers = [json.loads(raw) for raw in members(redis_client, "dead")]
    assert sorted(wrapper["raw_payload"].encode() for wrapper in wrappers) == sorted(damaged)
    assert {wrapper["class"] for wrapper in wrappers} == {"(unparseable)"}
    assert {wrapper["queue"] for wrapper in wrappers} == {None}
    assert all(wrapper["error_message"] for wrapper in wrappers)


def test_a_damaged_entry_is_buried_once_however_often_it_is_looked_at(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:schedule", {b"not json": 0})
    store.graduation.due(SetName.SCHEDULE)
    assert store.graduation.due(SetName.SCHEDULE).found == 0
    assert redis_client.zcard("t:dead") == 1


def test_an_entry_that_its_queue_refuses_waits_a_minute_and_the_rest_goes(
    store: Store, redis_client: redis.Redis
) -> None:
    broken = raw_job("a" * 24, "broken")
    redis_client.set("t:queue:broken", "no list")
    redis_client.zadd("t:retry", {broken: 1, raw_job(): 2})
    result = store.graduation.due(SetName.RETRY)
    assert result.moved == 1
    assert len(result.postponed) == 1 and "WRONGTYPE" in result.postponed[0]
    [(member, due)] = scored(redis_client, "retry")
    assert member == broken
    assert due == pytest.approx(result.now + 60, abs=5)


def test_what_cannot_be_buried_waits_a_minute_too(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:dead", "no set")
    redis_client.zadd("t:retry", {b"not json": 1})
    result = store.graduation.due(SetName.RETRY)
    assert (result.buried, len(result.postponed)) == ([], 1)
    assert redis_client.zscore("t:retry", b"not json") == pytest.approx(result.now + 60, abs=5)


def test_retrying_by_hand_answers_moved_once_and_then_gone(store: Store, redis_client: redis.Redis) -> None:
    raw = raw_job(args=TOUCHY_ARGS, retry_count=3)
    redis_client.zadd("t:dead", {raw: 1})
    assert store.graduation.requeue(SetName.DEAD, [raw]) == ["moved"]
    assert store.graduation.requeue(SetName.DEAD, [raw]) == ["gone"]
    [pushed] = queued(redis_client)
    assert pushed.startswith(raw[:-1])


@pytest.mark.parametrize("raw", DAMAGED + UNREADABLE_QUEUES)
def test_retrying_what_names_no_queue_is_invalid_and_touches_nothing(
    store: Store, redis_client: redis.Redis, raw: bytes
) -> None:
    redis_client.zadd("t:dead", {raw: 1})
    assert store.graduation.requeue(SetName.DEAD, [raw]) == ["invalid"]
    assert scored(redis_client, "dead") == [(raw, 1.0)]
    assert redis_client.keys() == [b"t:dead"]


def test_retrying_onto_a_queue_of_the_wrong_type_leaves_the_entry_and_tells(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set("t:queue:default", "no list")
    redis_client.zadd("t:retry", {raw_job(): 1})
    [outcome] = store.graduation.requeue(SetName.RETRY, [raw_job()])
    assert outcome.startswith("WRONGTYPE")
    assert redis_client.zscore("t:retry", raw_job()) == 1


def test_outcomes_are_in_the_order_of_the_question(store: Store, redis_client: redis.Redis) -> None:
    there, gone = raw_job("a" * 24), raw_job("b" * 24)
    redis_client.zadd("t:dead", {there: 1, b"null": 1})
    assert store.graduation.requeue(SetName.DEAD, [gone, b"null", there]) == ["gone", "invalid", "moved"]


def test_a_set_of_the_wrong_type_is_refused(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:retry", "no set")
    with pytest.raises(RedisRefused):
        store.graduation.due(SetName.RETRY)


@pytest.mark.parametrize("queue", ["a_b", "a:b", "ü", "inprogress", "x" * 128])
def test_every_allowed_queue_name_is_routed_as_it_is(queue: str) -> None:
    assert routed(raw_job(queue=queue), 5.0)[0] == queue


@pytest.mark.parametrize("queue", ["ü x", "{h}", "*", "a\nb", "x" * 300, ""])
def test_a_queue_name_that_no_worker_could_read_is_not_routed(queue: str) -> None:
    with pytest.raises(UnreadablePayload, match="names no queue"):
        routed(raw_job(queue=queue), 5.0)
