"""The locks of unique jobs in Redis: taken with the push, given up with the job (reference 17, group Q)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis

from cogworker_django.core.dispatch import Push
from cogworker_django.core.errors import RedisRefused
from cogworker_django.core.unique import digest_of
from cogworker_django.store.attempts import Attempt
from cogworker_django.store.dispatcher import RedisDispatcher
from cogworker_django.store.jobsets import SetName
from cogworker_django.store.settlements import Subject
from cogworker_django.store.store import Store
from tests.stores import open_store, queued, raw_job
from tests.support import StartServer
from tests.trips import IN_PROGRESS, Traveller

TTL = 1000.0
FAILED = Attempt(attempt=1, failed_at=5.0, outcome="retrying", error_class="E", error_message="no")


def unique(number: int, *args: Any, queue: str = "default") -> dict[str, Any]:
    payload = json.loads(raw_job(f"{number:024}", queue, args=list(args), unique="until_executed"))
    return {**payload, "unique_digest": digest_of(payload)}


def as_push(payload: dict[str, Any], delay: float | None = None, at: float | None = None) -> Push:
    return Push(payload, json.dumps(payload).encode(), delay, at, payload.get("unique_digest"))


def plain(number: int) -> Push:
    raw = raw_job(f"{number:024}")
    return Push(json.loads(raw), raw, None, None)


@pytest.fixture
def store(redis_url: str) -> Any:
    opened = open_store(redis_url, unique_lock_ttl=TTL)
    yield opened
    opened.client.close()


def lock(payload: dict[str, Any]) -> str:
    return f"t:unique:{payload['unique_digest']}"


def held(client: redis.Redis, payload: dict[str, Any]) -> bool:
    return bool(client.get(lock(payload)) == payload["jid"].encode())


def ttl(client: redis.Redis, payload: dict[str, Any]) -> float:
    return client.pttl(lock(payload)) / 1000


def push(store: Store, *pushes: Push) -> list[str | None]:
    return RedisDispatcher(store.queues).push(pushes)


# The push


def test_of_four_identical_pushes_one_lands(store: Store, redis_client: redis.Redis) -> None:
    """Reference Q4, Q5, Q6, Q7."""
    first, *others = (unique(n, "same") for n in range(4))
    assert [push(store, as_push(each))[0] for each in (first, *others)] == [first["jid"], None, None, None]
    assert push(store, as_push(unique(5, "other"))) == [unique(5)["jid"]]
    assert len(queued(redis_client)) == 2
    assert held(redis_client, first)
    assert ttl(redis_client, first) == pytest.approx(TTL, abs=2)


def test_in_a_bulk_each_is_accepted_or_refused_by_itself(store: Store, redis_client: redis.Redis) -> None:
    later = as_push(unique(6, "c"), delay=50.0)
    pushes = [as_push(unique(1, "a")), plain(2), as_push(unique(3, "a")), as_push(unique(4, "b")), plain(5), later]
    pushes += [as_push(unique(7, "c"), delay=50.0), as_push(unique(8, "c"))]
    accepted = [1, 2, 4, 5, 6]
    assert push(store, *pushes) == [f"{n:024}" if n in accepted else None for n in range(1, 9)]
    assert [json.loads(raw)["jid"] for raw in queued(redis_client)[::-1]] == [f"{n:024}" for n in (1, 2, 4, 5)]
    assert redis_client.zrange("t:schedule", 0, -1) == [later.raw]
    assert redis_client.llen("t:bell:default") == 4


def test_where_all_are_refused_nothing_is_written(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(lock(unique(1, queue="low")), "other")
    assert push(store, as_push(unique(1, queue="low")), as_push(unique(1, queue="low"), at=9e9)) == [None, None]
    assert redis_client.keys("*") == [lock(unique(1, queue="low")).encode()]


@pytest.mark.parametrize(
    ("times", "seconds"), [({"delay": 500.0}, 1500.0), ({"at": None}, 1000.0), ({"at": 5.0}, 1000.0)]
)
def test_the_lock_lasts_from_the_due_time_on(
    times: dict[str, Any], seconds: float, store: Store, redis_client: redis.Redis
) -> None:
    """Reference Q10, case B041: never a negative expiry."""
    push(store, as_push(unique(1), **times))
    assert ttl(redis_client, unique(1)) == pytest.approx(seconds, abs=2)


def test_a_lock_may_last_for_a_fraction_of_a_second_and_is_rounded_up(
    redis_url: str, redis_client: redis.Redis
) -> None:
    """Reference T9."""
    store = open_store(redis_url, unique_lock_ttl=0.25)
    assert push(store, as_push(unique(1)))
    assert 0.5 < ttl(redis_client, unique(1)) <= 1
    store.client.close()


def test_a_due_time_far_ahead_is_locked_until_then(store: Store, redis_client: redis.Redis) -> None:
    """Case B041: a copy just before it is due is refused."""
    now = redis_client.time()[0]
    push(store, as_push(unique(1), at=now + 30 * 3600.0))
    assert ttl(redis_client, unique(1)) == pytest.approx(30 * 3600 + TTL, abs=3)
    assert push(store, as_push(unique(2))) == [None]


@pytest.mark.parametrize(("key", "times"), [("t:queue:default", {}), ("t:schedule", {"delay": 5.0})])
def test_a_push_that_is_refused_leaves_no_lock(
    key: str, times: dict[str, Any], store: Store, redis_client: redis.Redis
) -> None:
    """Case B046: the key is damaged."""
    redis_client.set(key, "damaged")
    with pytest.raises(RedisRefused):
        push(store, as_push(unique(1), **times), as_push(unique(2, "b"), **times))
    assert redis_client.keys("*") == [key.encode()]
    redis_client.delete(key)
    assert push(store, as_push(unique(3), **times)) == [unique(3)["jid"]]


def test_a_push_to_a_full_server_leaves_no_lock(start_server: StartServer) -> None:
    """Case B046."""
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    store.client.config_set("maxmemory", 1)
    for times in ({}, {"delay": 5.0}):
        with pytest.raises(RedisRefused):
            push(store, as_push(unique(1), **times))
    assert store.client.keys("*") == []
    store.client.config_set("maxmemory", 0)
    assert push(store, as_push(unique(1))) == [unique(1)["jid"]]
    store.client.close()


def test_a_lock_of_the_wrong_type_holds_nobody_up(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(lock(unique(1)), "damaged")
    assert push(store, as_push(unique(1))) == [unique(1)["jid"]]
    assert held(redis_client, unique(1))


# Where a job leaves for good


def in_set(store: Store, name: SetName, payload: dict[str, Any]) -> bytes:
    raw = json.dumps(payload).encode()
    store.client.zadd(f"t:{name}", {raw: 9e9})
    store.client.set(lock(payload), payload["jid"], ex=100)
    store.client.set(f"t:status:{payload['jid']}", "{}")
    return raw


@pytest.mark.parametrize("name", [SetName.SCHEDULE, SetName.RETRY])
@pytest.mark.parametrize("act", ["remove", "kill"])
def test_deleted_or_killed_it_frees_its_lock(name: SetName, act: str, store: Store, redis_client: redis.Redis) -> None:
    """Case B039, and engine 3.4."""
    raw = in_set(store, name, unique(1))
    assert getattr(store.jobsets, act)(name, [raw]) in (1, ["moved"])
    assert not redis_client.exists(lock(unique(1)))
    assert redis_client.exists(f"t:status:{unique(1)['jid']}") == (act == "kill")
    assert push(store, as_push(unique(2))) == [unique(2)["jid"]]


@pytest.mark.parametrize("act", ["remove", "kill"])
def test_the_lock_of_another_is_left_alone(act: str, store: Store, redis_client: redis.Redis) -> None:
    """Reference Q15."""
    raw = in_set(store, SetName.RETRY, unique(1))
    redis_client.set(lock(unique(1)), "another")
    getattr(store.jobsets, act)(SetName.RETRY, [raw])
    assert redis_client.get(lock(unique(1))) == b"another"


@pytest.mark.parametrize(
    "act",
    [
        lambda store, raw: store.queue_reader.remove("default", raw),
        lambda store, raw: store.queue_reader.delete("default", json.loads(raw)["jid"]),
        lambda store, raw: store.queue_reader.clear("default"),
    ],
    ids=["remove", "delete", "clear"],
)
def test_deleted_from_its_queue_it_frees_its_lock_and_records(
    act: Callable[[Store, bytes], Any], store: Store, redis_client: redis.Redis
) -> None:
    """Contract 7: what is deleted is deleted with its locks and records."""
    push(store, as_push(unique(1)), as_push(unique(2, "kept"), delay=9.0))
    [raw] = queued(redis_client)
    jid = unique(1)["jid"]
    for key in (f"t:job_attempts:{jid}", f"t:status:{jid}"):
        redis_client.set(key, "x")
    assert act(store, raw)
    kept = {"t:schedule", "t:schedule_bell", lock(unique(2, "kept"))}
    left = {str(key, "ascii") for key in redis_client.scan_iter("*")}
    assert left - {"t:queues", "t:bell:default"} == kept


def test_clearing_goes_on_over_what_is_no_job(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:queue:default", "no json", b"\xff", '["list"]', '{"jid":5}', '{"jid":"x","unique_digest":7}')
    push(store, as_push(unique(1)))
    assert store.queue_reader.clear("default") == 6
    assert redis_client.keys("*") == []


def test_clearing_a_long_queue_of_large_jobs_takes_several_short_calls(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:queue:default", *(raw_job(f"{n:024}", args=["x" * 100_000]) for n in range(200)))
    redis_client.config_resetstat()
    assert store.queue_reader.clear("default") == 200
    calls: Any = redis_client.info("commandstats")
    assert calls["cmdstat_evalsha"]["calls"] > 1
    assert redis_client.keys("*") == []


def test_a_job_buried_for_its_dead_process_frees_its_lock(store: Store, redis_client: redis.Redis) -> None:
    """Reference R37."""
    raw = json.dumps(unique(1)).encode()
    redis_client.hset("t:inprogress:gone", "1:default", raw)
    for holder, left in ((unique(1)["jid"], None), ("another", b"another")):
        redis_client.set(lock(unique(1)), holder)
        redis_client.hset("t:inprogress:gone", "1:default", raw)
        assert store.recovery.bury("gone", "1:default", b"entry")
        assert redis_client.get(lock(unique(1))) == left


# Where it comes back


@pytest.mark.parametrize("holder", [None, "mine", "another"])
def test_back_on_its_queue_it_holds_its_lock_for_another_while(
    holder: str | None, store: Store, redis_client: redis.Redis
) -> None:
    """Reference R10, R11, R12, R13, for recovery and for what a process gives back: a newer owner's is left alone."""
    payload = unique(1)
    for act in ("recover", "give back"):
        redis_client.delete("t:queue:default", lock(payload))
        if holder:
            redis_client.set(lock(payload), payload["jid"] if holder == "mine" else holder, ex=5)
        raw = json.dumps(payload).encode()
        if act == "recover":
            redis_client.hset("t:inprogress:gone", mapping={"1:default": raw, "2:default": raw_job()})
            assert store.recovery.recover("gone")
        else:
            redis_client.hset(IN_PROGRESS, "1:default", raw)
            assert Traveller(store).trips.requeue_all([], set()) == 1
        assert held(redis_client, payload) is (holder != "another")
        assert ttl(redis_client, payload) == pytest.approx(5 if holder == "another" else TTL, abs=2)


def test_a_dead_job_that_is_retried_takes_its_lock_again(store: Store, redis_client: redis.Redis) -> None:
    """Engine 3.4."""
    raw = json.dumps(unique(1)).encode()
    redis_client.zadd("t:dead", {raw: 1})
    assert store.graduation.requeue(SetName.DEAD, [raw]) == ["moved"]
    assert held(redis_client, unique(1))
    assert ttl(redis_client, unique(1)) == pytest.approx(TTL, abs=2)
    assert push(store, as_push(unique(2))) == [None]


def test_a_dead_job_stays_when_another_holds_its_lock(store: Store, redis_client: redis.Redis) -> None:
    raw, sound = json.dumps(unique(1)).encode(), raw_job()
    redis_client.zadd("t:dead", {raw: 1, sound: 2})
    redis_client.set(lock(unique(1)), "another")
    assert store.graduation.requeue(SetName.DEAD, [raw, sound]) == ["held by another", "moved"]
    assert store.jobsets.reschedule(SetName.DEAD, raw, delay=5.0) == "held by another"
    assert redis_client.zrange("t:dead", 0, -1) == [raw]
    assert redis_client.get(lock(unique(1))) == b"another"


def test_two_alike_that_are_retried_together_give_one_run(store: Store, redis_client: redis.Redis) -> None:
    raws = [json.dumps(unique(n)).encode() for n in (1, 2)]
    redis_client.zadd("t:dead", dict.fromkeys(raws, 1))
    assert store.graduation.requeue(SetName.DEAD, raws) == ["moved", f"held by {unique(1)['jid']}"]


def test_what_is_due_runs_whatever_has_become_of_its_lock(store: Store, redis_client: redis.Redis) -> None:
    """Case B041: it is not blocked by its own lock, and at least once is promised whoever holds it."""
    for holder in (unique(1)["jid"], "another"):
        redis_client.zadd("t:schedule", {json.dumps(unique(1)): 1})
        redis_client.set(lock(unique(1)), holder, ex=50)
        assert store.graduation.due(SetName.SCHEDULE).moved == 1
        assert redis_client.get(lock(unique(1))) == holder.encode()


@pytest.mark.parametrize("name", list(SetName))
def test_rescheduled_its_lock_lasts_from_the_new_time_on(
    name: SetName, store: Store, redis_client: redis.Redis
) -> None:
    raw = in_set(store, name, unique(1))
    if name is SetName.DEAD:
        redis_client.delete(lock(unique(1)))
    assert store.jobsets.reschedule(name, raw, delay=700.0) == "moved"
    assert held(redis_client, unique(1))
    assert ttl(redis_client, unique(1)) == pytest.approx(TTL + 700, abs=2)


def test_rescheduling_leaves_the_lock_of_another_alone(store: Store, redis_client: redis.Redis) -> None:
    raw = in_set(store, SetName.RETRY, unique(1))
    redis_client.set(lock(unique(1)), "another", ex=50)
    assert store.jobsets.reschedule(SetName.RETRY, raw, delay=700.0) == "moved"
    assert redis_client.get(lock(unique(1))) == b"another"
    assert redis_client.ttl(lock(unique(1))) <= 50


# Settlements


def settled(store: Store, client: redis.Redis, what: str, holder: str) -> None:
    payload = unique(1)
    client.hset(IN_PROGRESS, "1:default", json.dumps(payload))
    client.set(lock(payload), holder, ex=50)
    subject = Subject(token="1:default", jid=payload["jid"], lock=(payload["unique_digest"], payload["jid"]))
    build = {
        "success": lambda: store.settlements.success(subject),
        "dead": lambda: store.settlements.dead(subject, b"entry", None, None),
        "retry": lambda: store.settlements.retry(subject, b"entry", 90.0, FAILED),
    }
    assert Traveller(store).go(0, verdicts=[build[what]()]).results == ["settled"]


@pytest.mark.parametrize("what", ["success", "dead"])
def test_the_end_of_a_job_frees_its_lock_and_no_other(what: str, store: Store, redis_client: redis.Redis) -> None:
    """Reference Q8, Q12, Q14, Q15, T40, R53; cases B037, B044."""
    settled(store, redis_client, what, unique(1)["jid"])
    assert not redis_client.exists(lock(unique(1)))
    settled(store, redis_client, what, "another")
    assert redis_client.get(lock(unique(1))) == b"another"


def test_a_failure_that_runs_again_keeps_its_lock_over_the_delay(store: Store, redis_client: redis.Redis) -> None:
    """Reference Q11, Q13."""
    settled(store, redis_client, "retry", unique(1)["jid"])
    assert held(redis_client, unique(1))
    assert ttl(redis_client, unique(1)) == pytest.approx(TTL + 90, abs=2)
    settled(store, redis_client, "retry", "another")
    assert ttl(redis_client, unique(1)) <= 50
