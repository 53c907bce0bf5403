"""The exchange's script on a real server: settling, fetching, putting back."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import RedisRefused, RedisUnavailable
from cogworker_django.store.settlement import Command
from cogworker_django.store.statistics import hour_of
from cogworker_django.store.store import Store
from cogworker_django.store.trips import number_of
from cogworker_django.worker.delivery import Delivery
from tests.slowlog import cost
from tests.stores import TOUCHY_ARGS, jids, members, open_store, queued, raw_job
from tests.support import StartServer
from tests.trips import IN_PROGRESS, ME, Traveller, verdict

FILED: Command = ["ZADD", "t:retry", "5", "entry"]
HANDED_OVER: Command = ["RPUSH", "t:unsettled", "entry"]


@pytest.fixture
def process(store: Store) -> Traveller:
    return Traveller(store)


def put(client: redis.Redis, number: int, queue: str = "default", first: int = 0) -> list[bytes]:
    """Jobs on a queue, the first the next to run."""
    raws = [raw_job(f"{n:024}", queue) for n in range(first, first + number)]
    if raws:
        client.lpush(f"t:queue:{queue}", *raws)
    return raws


def in_progress(client: redis.Redis, identity: str = ME) -> dict[bytes, bytes]:
    held: Any = client.hgetall(f"t:inprogress:{identity}")
    return dict(held)


def counted(client: redis.Redis) -> tuple[int, int]:
    """Processed and failed: the running totals, which must agree with the counters of the hours."""
    totals = [int(client.get(f"t:stats:{kind}") or 0) for kind in ("processed", "failed")]
    buckets: Any = [client.hgetall(key) for key in client.keys("t:throughput:*")]
    for total, kind in zip(totals, (b"processed", b"failed"), strict=True):
        assert sum(int(bucket.get(kind, 0)) for bucket in buckets) == total
    return totals[0], totals[1]


# Fetching


def test_fetched_jobs_move_into_the_processes_hash_by_token_byte_for_byte(
    process: Traveller, redis_client: redis.Redis
) -> None:
    """Reference R1; case B060."""
    raw = raw_job(args=TOUCHY_ARGS)
    redis_client.lpush("t:queue:default", raw)
    assert process.fetch(3) == [("default", raw)]
    assert in_progress(redis_client) == {b"1:default": raw}
    assert not redis_client.exists("t:queue:default")


def test_jobs_come_in_the_order_of_the_queue_and_so_do_their_tokens(
    process: Traveller, redis_client: redis.Redis
) -> None:
    raws = put(redis_client, 5)
    assert [raw for _, raw in process.fetch(3)] == raws[:3]
    assert [raw for _, raw in process.fetch(3)] == raws[3:]
    assert in_progress(redis_client) == {
        f"{n}:default".encode(): raw for n, raw in zip((1, 2, 3, 4, 5), raws, strict=True)
    }


def test_a_trip_that_wants_nothing_takes_nothing(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 1)
    landing = process.go(0)
    assert (landing.jobs, landing.dry) == ([], False)
    assert len(queued(redis_client)) == 1


def test_each_queue_gives_what_was_drawn_for_it_before_others_fill_up(
    process: Traveller, redis_client: redis.Redis
) -> None:
    put(redis_client, 10, "a")
    put(redis_client, 10, "b")
    taken = [queue for queue, _ in process.fetch(6, ("a", 4), ("b", 2))]
    assert taken == ["a"] * 4 + ["b"] * 2


def test_what_one_queue_lacks_is_filled_from_the_others_in_their_order(
    process: Traveller, redis_client: redis.Redis
) -> None:
    """Reference R2."""
    put(redis_client, 1, "a")
    put(redis_client, 3, "b")
    put(redis_client, 10, "c")
    taken = [queue for queue, _ in process.fetch(8, ("a", 5), ("b", 1), ("c", 2))]
    assert taken == ["a", "b", "c", "c", "b", "b", "c", "c"]


def test_no_more_is_taken_than_wanted_even_with_more_drawn(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 10)
    assert len(process.fetch(3, ("default", 9))) == 3


def test_tokens_name_the_queue_even_when_its_name_has_colons(process: Traveller, redis_client: redis.Redis) -> None:
    """Case B068."""
    put(redis_client, 1, "a:1:b")
    process.fetch(1, "a:1:b")
    assert list(in_progress(redis_client)) == [b"1:a:1:b"]
    assert number_of("1:a:1:b") == 1


def test_a_paused_queue_keeps_its_jobs_and_its_sibling_is_served(process: Traveller, redis_client: redis.Redis) -> None:
    """Reference B2, B3."""
    put(redis_client, 1, "a")
    put(redis_client, 1, "b")
    redis_client.sadd("t:paused_queues", "a")
    landing = process.go(5, "a", "b")
    assert [queue for queue, _ in landing.jobs] == ["b"]
    assert landing.paused == {"a"}
    assert len(queued(redis_client, "a")) == 1


def test_a_resumed_queue_is_served_by_the_very_next_trip(process: Traveller, redis_client: redis.Redis) -> None:
    """Reference B4."""
    put(redis_client, 1, "a")
    redis_client.sadd("t:paused_queues", "a")
    assert process.fetch(1, "a") == []
    redis_client.srem("t:paused_queues", "a")
    assert len(process.fetch(1, "a")) == 1


def test_a_paused_intake_pauses_every_queue(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 1, "a")
    put(redis_client, 1, "b")
    redis_client.sadd("t:paused_queues", "*")
    landing = process.go(5, "a", "b")
    assert landing.jobs == []
    assert landing.paused == {"a", "b"}


def test_a_damaged_set_of_paused_queues_pauses_nothing(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 1)
    redis_client.set("t:paused_queues", "no set")
    assert len(process.fetch(1)) == 1


def test_a_queue_of_the_wrong_type_is_reported_and_does_not_stop_the_others(
    process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.set("t:queue:a", "no list")
    put(redis_client, 2, "b")
    landing = process.go(2, ("a", 2), "b")
    assert [(queue, len(raws)) for queue, raws in landing.jobs] == [("b", 2)]
    assert any(error.startswith("a: WRONGTYPE") for error in landing.errors)


def test_a_hash_of_the_wrong_type_puts_what_was_taken_back_in_order(
    process: Traveller, redis_client: redis.Redis
) -> None:
    raws = put(redis_client, 5)
    redis_client.rpush("t:bell:default", "1")
    redis_client.set(IN_PROGRESS, "no hash")
    landing = process.go(3)
    assert landing.jobs == []
    assert landing.errors
    assert queued(redis_client)[::-1] == raws
    assert not landing.dry
    assert redis_client.llen("t:bell:default") == 1, "others have lost what wakes them for these jobs"


# Bells


def test_a_trip_that_finds_too_little_silences_the_bells_of_its_queues(
    process: Traveller, redis_client: redis.Redis
) -> None:
    put(redis_client, 1, "a")
    redis_client.rpush("t:bell:a", "1")
    redis_client.rpush("t:bell:b", "1")
    redis_client.rpush("t:bell:c", "1")
    assert process.go(5, "a", "b").dry
    assert redis_client.keys("t:bell:*") == [b"t:bell:c"]


def test_a_trip_that_finds_enough_leaves_the_bells_to_others(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 5)
    redis_client.rpush("t:bell:default", "1")
    assert not process.go(5).dry
    assert redis_client.llen("t:bell:default") == 1


def test_the_bell_of_a_paused_queue_keeps_its_tokens(process: Traveller, redis_client: redis.Redis) -> None:
    """Its jobs are still there: who wakes by the bell after a resume must find it ringing."""
    put(redis_client, 1)
    redis_client.rpush("t:bell:default", "1")
    redis_client.sadd("t:paused_queues", "default")
    process.go(5)
    assert redis_client.llen("t:bell:default") == 1


def test_a_push_after_the_silence_rings_again(process: Traveller, store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:bell:default", *["1"] * 16)
    process.go(1)
    store.gateway.run("push", ("t:queue:default", "t:bell:default", "t:queues"), ("default", "t:", 60, 60, 1, b"job"))
    assert redis_client.llen("t:bell:default") == 1


# What comes along


@pytest.mark.parametrize(
    ("schedule", "retry", "due"), [(None, None, None), (70.5, None, 70.5), (None, 60.25, 60.25), (70.5, 60.25, 60.25)]
)
def test_each_trip_tells_when_the_earliest_entry_is_due(
    schedule: float | None, retry: float | None, due: float | None, process: Traveller, redis_client: redis.Redis
) -> None:
    for name, score in (("schedule", schedule), ("retry", retry)):
        if score is not None:
            redis_client.zadd(f"t:{name}", {"entry": score, "later": 99})
    assert process.go(0).due == due


@pytest.mark.parametrize(
    ("awaited", "due"),
    [(math.inf, 60.25), (61.0, 60.25), (60.2500001, 60.25), (60.25, None), (60.0, None), (-math.inf, None)],
)
def test_an_entry_that_is_awaited_anyway_is_not_told_again(
    awaited: float, due: float | None, process: Traveller, redis_client: redis.Redis
) -> None:
    redis_client.zadd("t:schedule", {"entry": 70.5})
    redis_client.zadd("t:retry", {"entry": 60.25})
    assert process.go(0, awaited=awaited).due == due


def test_a_large_entry_that_is_awaited_costs_a_trip_nothing(process: Traveller, redis_client: redis.Redis) -> None:
    """Reading an entry copies it."""
    redis_client.zadd("t:schedule", {b"x" * 4_000_000: 70.5})
    cheap, dear = (
        min(cost(redis_client, partial(process.go, awaited=awaited)) for _ in range(5)) for awaited in (70.5, math.inf)
    )
    assert 3 * cheap < dear


def test_a_damaged_schedule_does_not_hide_the_retries(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.set("t:schedule", "no set")
    redis_client.zadd("t:retry", {"entry": 60})
    assert process.go(0).due == 60


def test_each_trip_is_a_beat_with_the_progress_of_the_process(
    process: Traveller, store: Store, redis_client: redis.Redis
) -> None:
    """Reference R31: who fetches is registered, so no hash is unknown to recovery."""
    before = store.jobsets.now()
    landing = process.go(1, progress="7 10")
    stamp, *progress = (redis_client.hget("t:beats", ME) or "").split()
    assert before <= float(stamp) == landing.now
    assert progress == [b"7", b"10"]


def test_a_damaged_registry_does_not_stop_a_trip(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.set("t:beats", "no hash")
    put(redis_client, 1)
    assert len(process.fetch(1)) == 1


# Settling


def test_plain_successes_leave_the_hash_and_are_counted_exactly(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 5)
    process.fetch(5)
    process.go(0, done=["1:default", "2:default", "4:default"])
    assert sorted(in_progress(redis_client)) == [b"3:default", b"5:default"]
    assert counted(redis_client) == (3, 0)


def test_a_success_whose_token_is_gone_is_not_counted(process: Traveller, redis_client: redis.Redis) -> None:
    """Guarantee 4: a late finisher changes nothing."""
    put(redis_client, 2)
    process.fetch(2)
    redis_client.hdel(IN_PROGRESS, "1:default")
    process.go(0, done=["1:default", "2:default", "9:default"])
    assert counted(redis_client) == (1, 0)


def test_a_thousand_successes_and_more_are_settled_by_one_trip(process: Traveller, redis_client: redis.Redis) -> None:
    redis_client.hset(IN_PROGRESS, mapping={f"{n}:default": "job" for n in range(2500)})
    process.go(0, done=[f"{n}:default" for n in range(2500)])
    assert in_progress(redis_client) == {}
    assert counted(redis_client) == (2500, 0)


def test_a_verdict_is_written_and_its_job_leaves_the_hash(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 1)
    process.fetch()
    landing = process.go(0, verdicts=[verdict("1:default", FILED, beside=[["SET", "t:beside", "1"]])])
    assert landing.results == ["settled"]
    assert members(redis_client, "retry") == [b"entry"]
    assert redis_client.get("t:beside") == b"1"
    assert in_progress(redis_client) == {}
    assert counted(redis_client) == (0, 1)


@pytest.mark.parametrize("essential", [[FILED], []], ids=["filed", "nothing essential"])
def test_a_late_finisher_writes_nothing_at_all(
    essential: list[Command], process: Traveller, redis_client: redis.Redis
) -> None:
    """Guarantee 4: the token is gone, so others own the job now."""
    put(redis_client, 1)
    process.fetch()
    redis_client.hdel(IN_PROGRESS, "1:default")
    late = verdict("1:default", *essential, beside=[["SET", "t:beside", "1"]])
    assert process.go(0, verdicts=[late]).results == ["gone"]
    assert redis_client.keys("t:*") == [b"t:beats"]


def test_nobody_settles_what_another_process_holds(store: Store, redis_client: redis.Redis) -> None:
    put(redis_client, 1)
    Traveller(store, "other").fetch()
    mine = Traveller(store)
    assert mine.go(0, done=["1:default"], verdicts=[verdict("1:default", FILED)]).results == ["gone"]
    assert len(in_progress(redis_client, "other")) == 1
    assert counted(redis_client) == (0, 0)


def test_the_same_verdict_sent_twice_counts_once(process: Traveller, redis_client: redis.Redis) -> None:
    """A repeat after a lost reply: its entry is there, so it is settled and its hooks are due (reference R64)."""
    put(redis_client, 2)
    process.fetch(2)
    again = [verdict("1:default", FILED, beside=[["INCR", "t:beside"]])]
    for _ in range(2):
        assert process.go(0, done=["2:default"], verdicts=again).results == ["settled"]
    assert counted(redis_client) == (1, 1)
    assert redis_client.get("t:beside") == b"1"


def test_a_verdict_on_a_job_that_others_have_taken_is_gone(process: Traveller, redis_client: redis.Redis) -> None:
    """Also when another failure of the same job is filed, and where its set has become something else."""
    put(redis_client, 1)
    process.fetch(1)
    redis_client.delete(IN_PROGRESS)
    redis_client.zadd("t:retry", {"another end": 5})
    for damage in (lambda: None, lambda: redis_client.delete("t:retry"), lambda: redis_client.set("t:retry", "no set")):
        damage()
        for essential in (FILED, HANDED_OVER):
            assert process.go(0, verdicts=[verdict("1:default", essential)]).results == ["gone"]
    assert counted(redis_client) == (0, 0)


def test_a_refused_essential_write_keeps_the_job_and_the_others_settle(
    process: Traveller, redis_client: redis.Redis
) -> None:
    """Reference R26: a wrong-typed dead set keeps the job in progress."""
    raws = put(redis_client, 3)
    process.fetch(3)
    redis_client.set("t:dead", "no set")
    verdicts = [
        verdict("1:default", FILED),
        verdict("2:default", ["ZADD", "t:dead", "5", "entry"], beside=[["SET", "t:beside", "1"]]),
    ]
    landing = process.go(0, done=["3:default"], verdicts=verdicts)
    first, second = landing.results
    assert first == "settled"
    assert second.startswith("WRONGTYPE")
    assert in_progress(redis_client) == {b"2:default": raws[1]}
    assert not redis_client.exists("t:beside")
    assert counted(redis_client) == (1, 1)


def test_a_refused_write_beside_changes_nothing_and_the_next_one_runs(
    process: Traveller, redis_client: redis.Redis
) -> None:
    """Guarantee 5; reference P13, P14."""
    put(redis_client, 1)
    process.fetch()
    redis_client.set("t:broken", "no list")
    beside: list[Command] = [["RPUSH", "t:broken", "x"], ["NO_SUCH_COMMAND"], ["SET", "t:beside", "1"]]
    assert process.go(0, verdicts=[verdict("1:default", beside=beside)]).results == ["settled"]
    assert redis_client.get("t:beside") == b"1"
    assert in_progress(redis_client) == {}


def test_damaged_counters_do_not_stop_a_settlement(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 1)
    process.fetch()
    redis_client.rpush("t:stats:processed", "no number")
    redis_client.set(f"t:throughput:{hour_of(time.time())}", "no hash")
    process.go(0, done=["1:default"])
    assert in_progress(redis_client) == {}


def test_the_hours_counters_expire(process: Traveller, redis_client: redis.Redis) -> None:
    """Case B116."""
    put(redis_client, 1)
    process.fetch()
    process.go(0, done=["1:default"])
    [hour] = redis_client.keys("t:throughput:*")
    assert 0 < redis_client.ttl(hour) <= 90_000


def test_successes_and_failures_of_one_trip_are_counted_apart(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 6)
    process.fetch(6)
    verdicts = [
        verdict("4:default", kind="processed"),
        verdict("5:default", FILED),
        verdict("6:default", ["ZADD", "t:retry", "6", "other"]),
    ]
    process.go(0, done=["1:default", "2:default", "3:default"], verdicts=verdicts)
    assert counted(redis_client) == (4, 2)


def test_one_trip_settles_and_fetches(process: Traveller, redis_client: redis.Redis) -> None:
    raws = put(redis_client, 2)
    process.fetch(1)
    assert process.fetch(1, done=["1:default"]) == [("default", raws[1])]
    assert in_progress(redis_client) == {b"2:default": raws[1]}


# Basic mode


def test_basic_mode_pops_and_holds_nothing_and_counts_what_finished(store: Store, redis_client: redis.Redis) -> None:
    """Reference B1."""
    raws = put(redis_client, 3)
    basic = Traveller(store, reliable=False)
    assert [raw for _, raw in basic.fetch(2)] == raws[:2]
    landing = basic.go(0, done=["1:default"], verdicts=[verdict("2:default", FILED)])
    assert landing.results == ["settled"]
    assert not redis_client.exists(IN_PROGRESS)
    assert not redis_client.exists("t:beats")
    assert counted(redis_client) == (1, 1)


def test_basic_mode_leaves_paused_queues_alone(store: Store, redis_client: redis.Redis) -> None:
    """Reference B2."""
    put(redis_client, 1, "a")
    put(redis_client, 1, "b")
    redis_client.sadd("t:paused_queues", "a")
    basic = Traveller(store, reliable=False)
    assert [queue for queue, _ in basic.fetch(5, "a", "b")] == ["b"]


def test_basic_mode_survives_a_queue_of_the_wrong_type(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:a", "no list")
    put(redis_client, 1, "b")
    assert [queue for queue, _ in Traveller(store, reliable=False).fetch(5, "a", "b")] == ["b"]


def test_basic_mode_puts_jobs_back_at_the_front_in_order(store: Store, redis_client: redis.Redis) -> None:
    """Reference B7: an unreadable one does not cost the others."""
    raws = [*put(redis_client, 2), b"not json"]
    redis_client.lpush("t:queue:default", b"not json")
    basic = Traveller(store, reliable=False)
    fetched = [Delivery(n, queue, raw, 0.0, False) for n, (queue, raw) in enumerate(basic.fetch(3), start=1)]
    put(redis_client, 1, first=9)
    assert basic.trips.give_back(fetched) == {"1:default", "2:default", "3:default"}
    assert queued(redis_client)[::-1][:3] == raws
    assert redis_client.llen("t:bell:default") == 3


# Giving back


def deliveries(process: Traveller, wanted: int, *queues: str) -> list[Delivery]:
    return [Delivery(n, q, raw, 0.0, False) for n, (q, raw) in enumerate(process.fetch(wanted, *queues), start=1)]


def test_jobs_given_back_are_the_next_to_run_in_their_old_order(process: Traveller, redis_client: redis.Redis) -> None:
    """Reference R8 in our form."""
    raws = put(redis_client, 5)
    fetched = deliveries(process, 3)
    assert process.trips.give_back(fetched) == {"1:default", "2:default", "3:default"}
    assert queued(redis_client)[::-1] == raws
    assert in_progress(redis_client) == {}


def test_each_job_given_back_goes_to_its_own_queue_and_rings(process: Traveller, redis_client: redis.Redis) -> None:
    first, second = put(redis_client, 2, "a"), put(redis_client, 3, "b:1")
    process.trips.give_back(deliveries(process, 5, "a", "b:1"))
    assert queued(redis_client, "a")[::-1] == first
    assert queued(redis_client, "b:1")[::-1] == second
    assert redis_client.smembers("t:queues") == {b"a", b"b:1"}
    assert (redis_client.llen("t:bell:a"), redis_client.llen("t:bell:b:1")) == (2, 3)


def test_a_job_that_others_have_taken_over_is_not_given_back_twice(
    process: Traveller, redis_client: redis.Redis
) -> None:
    put(redis_client, 2)
    fetched = deliveries(process, 2)
    redis_client.hdel(IN_PROGRESS, "1:default")
    assert process.trips.give_back(fetched) == {"1:default", "2:default"}
    assert len(queued(redis_client)) == 1


def test_a_job_whose_queue_refuses_it_stays_in_progress(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 1, "a")
    put(redis_client, 1, "b")
    fetched = deliveries(process, 2, "a", "b")
    redis_client.set("t:queue:a", "no list")
    assert process.trips.give_back(fetched) == {"2:b"}
    assert list(in_progress(redis_client)) == [b"1:a"]
    assert len(queued(redis_client, "b")) == 1


def test_at_the_end_everything_goes_back_but_what_has_run(process: Traveller, redis_client: redis.Redis) -> None:
    """Reference R28 in our form: what has run stays, to be settled; the rest goes back in order."""
    raws = put(redis_client, 5)
    process.fetch(5)
    assert process.trips.requeue_all([], {"2:default", "4:default"}) == 3
    assert queued(redis_client)[::-1] == [raws[0], raws[2], raws[4]]
    assert sorted(in_progress(redis_client)) == [b"2:default", b"4:default"]


def test_a_put_back_at_a_stop_is_no_orphaning(process: Traveller, redis_client: redis.Redis) -> None:
    """Reference R39."""
    put(redis_client, 3)
    process.fetch(3)
    process.trips.requeue_all([], set())
    assert redis_client.keys("t:orphan*") == []
    assert redis_client.keys("t:careful:*") == []


def test_thousands_go_back_in_order(process: Traveller, redis_client: redis.Redis) -> None:
    raws = put(redis_client, 2500)
    redis_client.hset(IN_PROGRESS, mapping={f"{n}:default": raw for n, raw in enumerate(raws, start=1)})
    redis_client.delete("t:queue:default")
    assert process.trips.requeue_all([], set()) == 2500
    assert queued(redis_client)[::-1] == raws


# What the process holds, as the server knows it


def test_it_reads_its_own_tokens_and_their_jobs(process: Traveller, redis_client: redis.Redis) -> None:
    raws = put(redis_client, 2)
    process.fetch(2)
    redis_client.hset("t:inprogress:other", "7:default", "x")
    assert process.trips.held() == {"1:default", "2:default"}
    assert process.trips.raw(["2:default", "9:default", "1:default"]) == [raws[1], None, raws[0]]
    assert process.trips.raw([]) == []


@pytest.mark.parametrize("field", [b"garbage", b":q", b"12", b"02:q", b"\xff:q", b"3:\xff", b"9" * 5000 + b":q"])
def test_a_field_of_its_hash_that_is_no_token_stops_nothing(
    field: bytes, process: Traveller, redis_client: redis.Redis
) -> None:
    put(redis_client, 1)
    process.fetch(1)
    strange: Any = field
    redis_client.hset(IN_PROGRESS, strange, raw_job())
    assert process.trips.held() == {"1:default"}
    assert process.trips.requeue_all([], set()) == 1


# Careful fetching after a recovery


@pytest.mark.parametrize(("careful", "waiting", "taken"), [(0, 2, 9), (4, 2, 2), (4, 0, 1), (100, 5, 5), (1, 9, 9)])
def test_while_recovered_jobs_are_about_only_free_threads_fetch(
    careful: int, waiting: int, taken: int, process: Traveller, redis_client: redis.Redis
) -> None:
    put(redis_client, 20)
    redis_client.set("t:orphaned", "1")
    if careful:
        redis_client.set("t:careful:default", careful)
    assert len(process.fetch(9, waiting=waiting)) == taken


def test_care_is_counted_down_by_what_is_fetched_and_then_ends(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 20)
    redis_client.set("t:orphaned", "1")
    redis_client.set("t:careful:default", 5, ex=1000)
    left = []
    for _ in range(3):
        process.fetch(9, waiting=2)
        left.append(redis_client.get("t:careful:default"))
    assert left == [b"3", b"1", None]
    assert len(process.fetch(9, waiting=2)) == 9


def test_care_for_one_queue_holds_for_the_whole_trip(process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 9, "a")
    put(redis_client, 9, "b")
    redis_client.set("t:orphaned", "1")
    redis_client.set("t:careful:b", 5)
    assert len(process.fetch(9, ("a", 9), "b", waiting=3)) == 3
    assert redis_client.get("t:careful:b") == b"5"


@pytest.mark.parametrize("value", ["no number", "-3"])
def test_a_damaged_count_of_care_is_dropped(value: str, process: Traveller, redis_client: redis.Redis) -> None:
    put(redis_client, 9)
    redis_client.set("t:orphaned", "1")
    redis_client.set("t:careful:default", value)
    assert len(process.fetch(9, waiting=1)) == 9
    assert not redis_client.exists("t:careful:default")


@pytest.mark.parametrize("orphaned", [True, False])
def test_a_trip_tells_whether_its_jobs_may_have_been_orphaned(
    orphaned: bool, process: Traveller, redis_client: redis.Redis
) -> None:
    put(redis_client, 1)
    if orphaned:
        redis_client.set("t:orphaned", "1")
    assert process.go(1).orphaned is orphaned


# Servers in trouble


def test_a_full_server_can_be_drained(start_server: StartServer) -> None:
    """Guarantee 6: fetching, acknowledging, filing a retry and putting back all pass at maxmemory."""
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    raws = put(store.client, 6)
    process = Traveller(store)
    store.client.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        store.client.set("more", "text")
    assert [raw for _, raw in process.fetch(4)] == raws[:4]
    filed = verdict("2:default", FILED, beside=[["RPUSH", "t:job_attempts:j", "{}"]])
    landing = process.go(1, done=["1:default"], verdicts=[filed])
    assert landing.results == ["settled"]
    assert members(store.client, "retry") == [b"entry"]
    assert store.client.llen("t:job_attempts:j") == 1
    assert counted(store.client) == (1, 1)
    assert process.trips.requeue_all([], set()) == 3
    assert jids(queued(store.client)[::-1]) == jids([raws[2], raws[3], raws[4], raws[5]])
    store.client.close()


def test_a_hash_of_the_wrong_type_refuses_the_trip_that_settles(process: Traveller, redis_client: redis.Redis) -> None:
    """Nothing is written for a job that may no longer be ours."""
    redis_client.set(IN_PROGRESS, "no hash")
    with pytest.raises(RedisRefused):
        process.go(0, verdicts=[verdict("1:default", FILED)])
    assert not redis_client.exists("t:retry")


def test_a_server_away_is_told(start_server: StartServer) -> None:
    server = start_server()
    process = Traveller(open_store(server.url))
    server.kill()
    with pytest.raises(RedisUnavailable):
        process.go(1)


def test_a_trip_survives_a_script_flush(process: Traveller, redis_client: redis.Redis) -> None:
    """Reference R7, case B067."""
    put(redis_client, 2)
    process.fetch(1)
    redis_client.script_flush()
    assert len(process.fetch(1, done=["1:default"])) == 1
    assert counted(redis_client) == (1, 0)
