from __future__ import annotations

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.queue_state import INTAKE
from cogworker_django.store.store import Store
from tests.stores import jids, queued, raw_job

# Case B068: what a queue may be called, and must not be mixed up with.
NAMES = ["a_b", "a:b", "ü", "inprogress", "a.b@c/d-e", "x" * 128]


def push(client: redis.Redis, name: str, *raws: bytes) -> None:
    client.lpush(f"t:queue:{name}", *raws)
    client.sadd("t:queues", name)


def numbered(number: int) -> list[bytes]:
    return [raw_job(f"{n:024}") for n in range(number)]


def test_names_of_listed_queues_come_sorted(store: Store, redis_client: redis.Redis) -> None:
    assert store.queue_reader.names() == []
    redis_client.sadd("t:queues", "b", "ä", "a")
    assert store.queue_reader.names() == ["a", "b", "ä"]


def test_states_show_size_latency_and_pause(store: Store, redis_client: redis.Redis) -> None:
    now = store.jobsets.now()
    push(redis_client, "high", raw_job(enqueued_at=now - 30), raw_job(enqueued_at=now - 10))
    push(redis_client, "low", raw_job(created_at=now - 50))
    redis_client.sadd("t:paused_queues", "low")
    high, low, empty = store.queue_reader.states(["high", "low", "empty"])
    assert (high.name, high.size, high.paused) == ("high", 2, False)
    assert high.latency == pytest.approx(30, abs=5)
    assert (low.size, low.paused) == (1, True)
    assert low.latency == pytest.approx(50, abs=5)
    assert (empty.size, empty.latency, empty.paused) == (0, 0.0, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"not json",
        b"null",
        b"{}",
        b'{"enqueued_at":"soon"}',
        b'{"enqueued_at":true}',
        b'{"enqueued_at":9e300}',
        b'{"enqueued_at":' + b"9" * 400 + b"}",
    ],
)
def test_a_next_job_that_does_not_tell_or_comes_from_the_future_has_no_latency(
    store: Store, redis_client: redis.Redis, raw: bytes
) -> None:
    push(redis_client, "default", raw)
    [state] = store.queue_reader.states(["default"])
    assert (state.size, state.latency) == (1, 0.0)


def test_a_damaged_queue_and_a_damaged_pause_set_do_not_hide_the_other_queues(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set("t:queue:broken", "no list")
    redis_client.set("t:paused_queues", "no set")
    push(redis_client, "sound", raw_job())
    broken, sound = store.queue_reader.states(["broken", "sound"])
    assert (broken.size, broken.latency, sound.size) == (0, 0.0, 1)


def test_many_queues_are_looked_at_in_a_few_round_trips(store: Store, redis_client: redis.Redis) -> None:
    names = [f"q{n}" for n in range(450)]
    push(redis_client, "q449", raw_job())
    states = store.queue_reader.states(names)
    assert [state.name for state in states] == names
    assert states[449].size == 1


def test_a_walk_shows_every_job_newest_first(store: Store, redis_client: redis.Redis) -> None:
    raws = numbered(123)
    push(redis_client, "default", *raws)
    assert list(store.queue_reader.walk("default")) == raws[::-1]
    assert store.queue_reader.page("default", 1, 2) == [raws[121], raws[120]]


def test_a_walk_that_deletes_what_it_sees_still_sees_everything(store: Store, redis_client: redis.Redis) -> None:
    raws = numbered(123)
    push(redis_client, "default", *raws)
    seen = []
    for raw in store.queue_reader.walk("default", 10):
        seen.append(raw)
        store.queue_reader.remove("default", raw)
    assert seen == raws[::-1]


def test_a_walk_passes_nothing_over_while_jobs_are_pushed_and_fetched(store: Store, redis_client: redis.Redis) -> None:
    raws = numbered(60)
    push(redis_client, "default", *raws)
    seen: list[bytes] = []
    for raw in store.queue_reader.walk("default", 10):
        if len(seen) % 10 == 0:
            redis_client.lpush("t:queue:default", f"new {len(seen)}", f"newer {len(seen)}")
            redis_client.rpop("t:queue:default", 3)
        seen.append(raw)
    assert set(queued(redis_client)) & set(raws) <= set(seen)


def test_a_walk_ends_although_jobs_are_pushed_faster_than_it_reads(store: Store, redis_client: redis.Redis) -> None:
    push(redis_client, "default", *numbered(30))
    seen = 0
    for _ in store.queue_reader.walk("default", 10):
        seen += 1
        redis_client.lpush("t:queue:default", *(f"{seen}.{n}" for n in range(20)))
    assert seen == 30


def test_a_job_is_deleted_by_its_id_and_only_one_of_identical_copies(store: Store, redis_client: redis.Redis) -> None:
    copy, other = raw_job("a" * 24), raw_job("b" * 24, args=["a" * 24])
    push(redis_client, "default", copy, other, copy)
    assert store.queue_reader.delete("default", "a" * 24)
    assert queued(redis_client) == [other, copy]
    assert not store.queue_reader.delete("default", "c" * 24)
    assert not store.queue_reader.delete("unknown", "a" * 24)


def test_a_job_far_down_a_queue_with_damaged_elements_is_deleted(store: Store, redis_client: redis.Redis) -> None:
    raws = numbered(900)
    push(redis_client, "default", *raws, b"not json", b"null", b"")
    assert store.queue_reader.delete("default", f"{3:024}")
    assert jids(queued(redis_client)[-4:]) == [f"{n:024}" for n in (4, 2, 1, 0)]


@pytest.mark.parametrize("number", [0, 1, 1_000, 2_345])
def test_clearing_deletes_all_jobs_and_takes_the_queue_off_the_list(
    store: Store, redis_client: redis.Redis, number: int
) -> None:
    redis_client.sadd("t:queues", "default", "other")
    if number:
        push(redis_client, "default", *(b"x" for _ in range(number)))
        redis_client.rpush("t:bell:default", "1")
    assert store.queue_reader.clear("default") == number
    assert redis_client.keys() == [b"t:queues"]
    assert redis_client.smembers("t:queues") == {b"other"}


def test_clearing_a_key_of_the_wrong_type_is_refused(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:default", "no list")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.queue_reader.clear("default")


def test_a_queue_is_paused_and_resumed_once(store: Store, redis_client: redis.Redis) -> None:
    assert store.queue_reader.pause("default")
    assert not store.queue_reader.pause("default")
    assert store.queue_reader.paused() == {"default"}
    assert store.queue_reader.resume("default")
    assert not store.queue_reader.resume("default")
    assert redis_client.keys() == []


def test_resuming_wakes_the_workers_for_what_has_been_waiting(store: Store, redis_client: redis.Redis) -> None:
    push(redis_client, "few", *numbered(3))
    push(redis_client, "many", *numbered(40))
    for name in ("few", "many", "empty"):
        store.queue_reader.pause(name)
        store.queue_reader.resume(name)
    assert redis_client.llen("t:bell:few") == 3
    assert redis_client.llen("t:bell:many") == 16
    assert not redis_client.exists("t:bell:empty")


def test_resuming_all_intake_wakes_all_queues_but_those_paused_on_their_own(
    store: Store, redis_client: redis.Redis
) -> None:
    for name in ("a", "b", "c"):
        push(redis_client, name, raw_job())
    store.queue_reader.pause("b")
    store.queue_reader.pause()
    assert store.queue_reader.paused() == {"b", INTAKE}
    assert all(state.paused for state in store.queue_reader.states(["a", "b", "c"]))
    assert store.queue_reader.resume()
    assert [redis_client.llen(f"t:bell:{name}") for name in ("a", "b", "c")] == [1, 0, 1]


def test_resuming_a_queue_while_all_intake_is_paused_wakes_nobody(store: Store, redis_client: redis.Redis) -> None:
    push(redis_client, "default", raw_job())
    store.queue_reader.pause("default")
    store.queue_reader.pause()
    assert store.queue_reader.resume("default")
    assert not redis_client.exists("t:bell:default")


@pytest.mark.parametrize("name", NAMES)
def test_queues_with_odd_names_stay_apart(store: Store, redis_client: redis.Redis, name: str) -> None:
    for each in NAMES:
        push(redis_client, each, raw_job("a" * 24, each))
    store.queue_reader.pause(name)
    assert store.queue_reader.paused() == {name}
    assert store.queue_reader.delete(name, "a" * 24)
    assert store.queue_reader.clear(name) == 0
    assert [state.size for state in store.queue_reader.states(NAMES)] == [int(each != name) for each in NAMES]
    assert store.queue_reader.names() == sorted(set(NAMES) - {name})
