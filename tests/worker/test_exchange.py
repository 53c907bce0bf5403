"""Trips of whole workers: settling in time, group commit, the memory of what has run, strays, outages."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import pytest
import redis

from cogworker_django.core.config import HistoryConfig, StatusConfig
from cogworker_django.definition import job
from cogworker_django.store.trips import Landing, Trip
from cogworker_django.worker import hold
from cogworker_django.worker.delivery import Delivery
from tests.stores import jids, queued
from tests.support import StartServer
from tests.worker.rigs import Rig, Rigs, foreign, holds, messages, reaches, until
from tests.worker.test_processor import failing


def test_what_has_run_is_settled_within_milliseconds_while_other_threads_run_long_jobs(rigs: Rigs) -> None:
    """Engine 1: a verdict never waits for the buffer to run low."""
    held, ended = rigs.holding(), rigs.recording()
    rig = rigs(concurrency=3, fetch_idle_max_interval=30.0)
    rig.push("hold")
    rig.push("hold")
    rig.start()
    reaches(held.runs, 2)
    took: list[float] = []
    for number in range(1, 21):
        rig.push("note")
        reaches(ended, number, step=0.0005)
        began = time.monotonic()
        until(lambda: rig.held() == 2, step=0.0005)
        took.append(time.monotonic() - began)
    assert sorted(took)[len(took) // 2] < 0.05


def test_the_last_verdict_of_busy_threads_does_not_wait_for_one_to_become_free(rigs: Rigs) -> None:
    """All threads busy with long jobs again: only the keeper can settle what ended before."""
    first, second = rigs.holding("first"), rigs.holding("second")
    rig = rigs(concurrency=1, fetch_idle_max_interval=30.0)
    rig.push("first")
    rig.push("second")
    rig.start()
    until(lambda: first.started)
    first.let_go()
    until(lambda: second.started and rig.counts() == (1, 0), 2.0)
    assert rig.held() == 1


def test_many_jobs_share_a_round_trip(rigs: Rigs) -> None:
    """Engine 4: at most 0.1 round trips a job under load."""
    seen = rigs.recording()
    rig = rigs(concurrency=5)
    rig.push_many("note", [(n,) for n in range(5000)])
    rig.start()
    until(lambda: len(seen) == 5000 and rig.settled())
    assert rig.faults.asked < 500
    assert rig.counts() == (5000, 0)


def reads(client: redis.Redis) -> int:
    """How often the first entry of a set has been read: twice by each look of the scheduler."""
    stats: dict[str, Any] = client.info("commandstats")
    return int(stats.get("cmdstat_zrange", {}).get("calls", 0))


def at_rest(client: redis.Redis, known: int) -> bool:
    return reads(client) == known


def test_trips_do_not_read_the_first_entry_that_is_due_later(rigs: Rigs, redis_client: redis.Redis) -> None:
    """It may be a megabyte, which the server would copy at each trip."""
    seen = rigs.recording()
    rig = rigs(concurrency=2)
    for name in ("schedule", "retry"):
        redis_client.zadd(f"t:{name}", {foreign("note"): 4e9})
    rig.start()
    until(lambda: rig.idle() and rig.worker._scheduler.awaited == 4e9)
    redis_client.config_resetstat()
    for number in range(100):
        rig.push("note", number)
        reaches(seen, number + 1, step=0.0005)
    assert reads(redis_client) <= 2 * 4
    assert rig.faults.asked > 100


def test_a_due_time_that_is_no_longer_awaited_after_a_trip_makes_the_scheduler_look(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """The trip has told nothing that is later, and what it has filed may be."""
    rig = rigs(concurrency=1)
    redis_client.zadd("t:schedule", {foreign("note"): 4e9})
    rig.start()
    scheduler = rig.worker._scheduler
    until(lambda: rig.idle() and scheduler.awaited == 4e9)
    while not holds(partial(at_rest, redis_client, before := reads(redis_client)), 0.1):
        pass
    rig.faults.meanwhile = lambda: setattr(scheduler, "awaited", 5e9)
    with rig.worker.exchange.lock:
        rig.worker.exchange.trip(0)
    until(lambda: reads(redis_client) >= before + 2, 2.0)
    until(lambda: scheduler.awaited == 4e9)


def test_jobs_of_one_thread_run_in_the_order_of_the_queue(rigs: Rigs) -> None:
    seen = rigs.recording()
    rig = rigs(concurrency=1)
    rig.push_many("note", [(n,) for n in range(1000)])
    rig.start()
    until(rig.settled)
    assert seen == list(range(1000))


def test_a_heavier_queue_gets_more_and_the_lighter_one_does_not_starve(rigs: Rigs) -> None:
    seen = rigs.recording()
    rig = rigs(concurrency=1, queues=(("heavy", 4), ("light", 1)))
    rig.push_many("note", [("heavy",)] * 600, queue="heavy")
    rig.push_many("note", [("light",)] * 600, queue="light")
    rig.start()
    until(rig.settled)
    early = seen[:500]
    assert 0 < early.count("light") < early.count("heavy")
    assert len(seen) == 1200


def test_each_trip_tells_how_far_the_process_has_come(rigs: Rigs, redis_client: redis.Redis) -> None:
    """What recovery would need to know: the number of the latest job that started."""
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    rig.push("hold")
    until(lambda: held.started)
    rig.push("hold")
    until(lambda: held.started == 2)
    running = [processor.delivery.number for processor in rig.worker.processors if processor.delivery]
    assert rig.worker.exchange.progress == f"{max(running)} 2"
    rig.worker.heartbeat.beat()
    assert (redis_client.hget("t:beats", rig.identity) or b"").split()[1:] == [str(max(running)).encode(), b"2"]


# A lost reply


def test_jobs_that_arrived_with_a_lost_reply_are_taken_up_and_run_once(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B062: they lie in the process's hash, and no thread has heard of them."""
    seen = rigs.recording()
    rig = rigs(concurrency=2)
    rig.push_many("note", [(n,) for n in range(50)])
    rig.faults.lose = 1
    rig.start()
    until(lambda: len(seen) == 50 and rig.settled())
    assert sorted(seen) == list(range(50))
    assert rig.counts() == (50, 0)
    assert any("without this process hearing of it" in line for line in messages(caplog))


def test_lost_replies_under_load_neither_lose_nor_double_a_job(rigs: Rigs) -> None:
    """Case B062, and guarantee 2: what has run is not run again, and counted once."""
    seen = rigs.recording()
    rig = rigs(concurrency=3).start()
    for block in range(10):
        rig.faults.lose = 1
        rig.push_many("note", [(100 * block + n,) for n in range(100)])
        reaches(seen, 100 * (block + 1))
    until(rig.settled)
    assert sorted(seen) == list(range(1000))
    assert rig.counts() == (1000, 0)


def test_what_a_lost_reply_had_settled_is_recorded_once_and_nothing_is_said(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """With status and history every success is a verdict, which the next trip repeats."""
    seen = rigs.recording()
    rig = rigs(concurrency=3, status=StatusConfig(), history=HistoryConfig()).start()
    for block in range(5):
        rig.faults.lose = 1
        rig.push_many("note", [(100 * block + n,) for n in range(100)])
        reaches(seen, 100 * (block + 1))
    until(rig.settled)
    assert rig.counts() == (500, 0)
    assert redis_client.llen("t:history:all") == 500
    assert not any("no longer this process's" in line for line in messages(caplog))


def test_a_failure_whose_settlement_was_lost_is_filed_and_counted_once(rigs: Rigs) -> None:
    runs = failing()
    rig = rigs(concurrency=1).start()
    until(lambda: rig.idle())

    @job(name="cut")
    def cut() -> None:
        rig.faults.lose = 1
        raise ValueError("no")

    jid = rig.push("cut")
    until(lambda: not rig.faults.lose and rig.retries() and rig.settled())
    assert [(entry["jid"], entry["retry_count"]) for entry in rig.retries()] == [(jid, 1)]
    assert rig.counts() == (0, 1)
    assert runs == []


def test_a_death_whose_settlement_was_lost_is_told_to_its_hooks_once(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R60, R64: the repeat finds the job gone and its entry in dead, and counts as settled."""
    told: list[str] = []
    rig = rigs(concurrency=1, handlers=[lambda payload: told.append(payload["jid"])]).start()
    until(lambda: rig.idle())

    @job(name="cut", retry=0)
    def cut() -> None:
        rig.faults.lose = 1
        raise ValueError("no")

    jid = rig.push("cut", retry=0)
    until(lambda: not rig.faults.lose and told and rig.settled())
    assert told == [jid]
    assert rig.counts() == (0, 1)
    assert [entry["jid"] for entry in rig.dead()] == [jid]
    assert not any("no longer this process's" in line for line in messages(caplog))


def test_a_number_is_never_used_twice_even_when_its_reply_was_lost(rigs: Rigs) -> None:
    """Else two jobs would share a token, and settling one would lose the other."""
    tokens: list[int] = []
    rig = rigs(concurrency=1)

    @job(name="token")
    def token() -> None:
        [delivery] = [each.delivery for each in rig.worker.processors if each.delivery]
        tokens.append(delivery.number)

    rig.push_many("token", [()] * 40)
    rig.faults.lose = 3
    rig.start()
    until(rig.settled)
    assert len(tokens) == len(set(tokens)) == 40


# Away


def test_what_ran_while_redis_was_away_is_settled_when_it_is_back_and_not_run_again(rigs: Rigs) -> None:
    """Case B048, B053."""
    held = rigs.holding()
    seen = rigs.recording()
    rig = rigs(concurrency=2).start()

    @job(name="bad")
    def bad() -> None:
        held.run()
        raise ValueError("while away")

    rig.push("hold")
    jid = rig.push("bad")
    until(lambda: held.started == 2)
    rig.faults.away = True
    held.let_go()
    until(lambda: rig.worker.exchange.hold.finished == 2)
    assert holds(lambda: rig.worker.exchange.hold.finished == 2, 0.1)
    rig.faults.away = False
    until(rig.settled, 5.0)
    assert held.started == 2
    assert rig.counts() == (1, 1)
    assert [entry["jid"] for entry in rig.retries()] == [jid]
    rig.push("note", 1)
    until(lambda: seen == [1])


def test_a_restarted_server_is_found_and_work_goes_on(start_server: StartServer, rigs: Rigs) -> None:
    """Guarantee 6; case B065."""
    seen = rigs.recording()
    server = start_server(persistent=True)
    rig = rigs(url=server.url, concurrency=2).start()
    for round_ in range(2):
        rig.push("note", round_)
        reaches(seen, round_ + 1)
        until(rig.idle)
        server.stop()
        server.start()
    rig.push("note", 2)
    until(lambda: len(seen) == 3 and rig.settled())
    assert seen == [0, 1, 2]


def test_an_outage_is_asked_about_less_and_less_often_and_logged_once(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """No thread spins while Redis is away."""
    held = rigs.holding()
    rig = rigs(concurrency=3).start()
    rig.push("hold")
    until(lambda: held.started)
    rig.faults.away = True
    held.let_go()
    until(lambda: rig.worker.exchange.hold.finished)
    before = rig.faults.asked
    time.sleep(0.1)
    for _ in range(9):
        time.sleep(0.1)
    assert rig.faults.asked - before < 25
    assert sum("exchange: Redis is not available" in line for line in messages(caplog)) == 1


def test_old_fetched_jobs_make_no_thread_spin_while_redis_is_away(
    rigs: Rigs,
) -> None:
    """They have to be looked up before they run, which cannot be done now."""
    first = rigs.holding("first")
    seen = rigs.recording()
    rig = rigs(concurrency=2)
    rig.push("first")
    rig.push("first")
    rig.start()
    until(lambda: first.started == 2)
    rig.worker.set_quiet(True)
    rig.push_many("note", [(n,) for n in range(2)])
    rig.faults.away = True
    _put_into_buffer(rig, 2, age=rig.worker.exchange.stale_after)
    first.let_go()
    time.sleep(0.05)
    before, used = rig.faults.asked, time.process_time()
    for _ in range(5):
        time.sleep(0.1)
    assert rig.faults.asked - before < 20
    assert time.process_time() - used < 0.25
    assert len(rig.worker.exchange.buffer) == 2
    rig.faults.away = False
    until(lambda: len(seen) == 2 and rig.settled())


def _put_into_buffer(rig: Rig, number: int, *, age: float) -> None:
    """Fetches jobs as a trip would have, some seconds ago."""
    worker, store = rig.worker, rig.store
    numbers = [worker.exchange._counter + n for n in range(1, number + 1)]
    worker.exchange._counter += number
    deliveries = []
    for each in numbers:
        raw = store.client.rpop("t:queue:default")
        assert isinstance(raw, bytes)
        store.client.hset(store.keys.in_progress(rig.identity), f"{each}:default", raw)
        deliveries.append(Delivery(each, "default", raw, time.monotonic() - age, False))
    worker.exchange.hold.add(deliveries)
    worker.exchange.buffer.extend(deliveries)


def test_jobs_that_others_have_taken_over_are_dropped_and_not_run(rigs: Rigs) -> None:
    """A frozen process wakes up: what it had fetched may have been recovered meanwhile."""
    held = rigs.holding()
    seen = rigs.recording()
    rig = rigs(concurrency=1)
    rig.push("hold")
    rig.start()
    until(lambda: held.started)
    rig.push_many("note", [(n,) for n in range(3)])
    rig.worker.set_quiet(True)
    _put_into_buffer(rig, 3, age=rig.worker.exchange.stale_after)
    [_, lost, _] = sorted(
        token for token in rig.worker.exchange.hold.jobs if rig.worker.exchange.hold.jobs[token].number > 1
    )
    rig.store.client.hdel(rig.store.keys.in_progress(rig.identity), lost)
    held.let_go()
    until(rig.settled)
    assert seen == [0, 2]
    assert rig.counts() == (3, 0)


def test_what_a_trip_brings_is_looked_up_first_when_the_process_was_frozen_on_the_way(rigs: Rigs) -> None:
    """The reply was there in time and was read after others had taken the jobs."""
    seen = rigs.recording()
    rig = rigs(concurrency=1)
    trips: Any = rig.worker.exchange._trips
    rig.worker.exchange.stale_after = 0.05
    rig.push_many("note", [(n,) for n in range(3)])
    asked = trips.exchange

    def frozen(trip: Trip, now: float) -> Landing:
        landing: Landing = asked(trip, now)
        if landing.jobs:
            time.sleep(0.06)
            rig.store.client.hdel(rig.store.keys.in_progress(rig.identity), f"{trip.first}:default")
            trips.exchange = asked
        return landing

    trips.exchange = frozen
    rig.start()
    until(lambda: len(seen) == 2 and rig.settled())
    assert seen == [1, 2]


def test_a_job_taken_over_while_it_runs_changes_nothing_at_its_end(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Guarantee 4."""
    held = rigs.holding()
    told: list[Any] = []

    @job(name="bad")
    def bad() -> None:
        held.run()
        raise ValueError("late")

    rig = rigs(concurrency=2, handlers=[told.append]).start()
    rig.push("hold")
    rig.push("bad", retry=False)
    until(lambda: held.started == 2)
    rig.store.client.delete(rig.store.keys.in_progress(rig.identity))
    held.let_go()
    until(lambda: not rig.worker.exchange.hold.jobs)
    assert (rig.counts(), rig.dead(), rig.retries(), told) == ((0, 0), [], [], [])
    assert any("no longer this process's" in line for line in messages(caplog))


def test_while_too_many_verdicts_wait_nothing_is_fetched(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each is a job that a crash would run again."""
    monkeypatch.setattr(hold, "MAX_UNSETTLED", 5)
    runs = failing()
    rig = rigs(concurrency=2, fetch_idle_max_interval=0.05)
    rig.start()
    until(rig.looked)
    rig.store.client.set("t:dead", "no set")
    rig.push_many("fail", [()] * 300, retry=False)
    until(lambda: len(rig.worker.exchange.hold.refused) > 5 and not rig.worker.work.busy)
    ran = len(runs)
    assert ran < 300
    asked = rig.faults.asked
    assert holds(lambda: len(runs) == ran, 0.2)
    assert rig.faults.asked - asked < 50, "it asks without a pause for what it may not have"
    rig.store.client.delete("t:dead")
    until(lambda: rig.settled() and len(rig.dead()) == 300)
    assert len(runs) == 300
    assert len([line for line in messages(caplog) if "could not be written" in line]) == 1


# Wake-ups


def test_a_bell_that_rings_while_another_threads_trip_finds_nothing_is_not_forgotten(rigs: Rigs) -> None:
    """The trip looked before the push, its reply comes after the bell was heard: the job must not lie until the next
    look of an idle worker.
    """
    held = rigs.holding()
    seen = rigs.recording()
    rig = rigs(concurrency=2, fetch_idle_max_interval=30.0).start()
    rig.push("hold")
    until(lambda: held.started and rig.worker.exchange._listener.busy)

    def push_and_be_heard() -> None:
        rig.push("note", 1)
        until(lambda: not rig.worker.exchange._listener.busy)
        time.sleep(0.02)

    rig.faults.meanwhile = push_and_be_heard
    held.let_go()
    until(lambda: seen == [1], 1.0)


def test_death_hooks_of_a_verdict_that_the_keeper_settled_run_at_once(rigs: Rigs) -> None:
    """All threads are idle by then, and wait for bells that will not ring."""
    told: list[str] = []
    failing()
    rig = rigs(concurrency=2, handlers=[lambda payload: told.append(payload["jid"])], fetch_idle_max_interval=0.05)
    rig.start()
    until(rig.looked)
    rig.store.client.set("t:dead", "no set")
    jid = rig.push("fail", retry=False)
    until(lambda: rig.worker.exchange.hold.refused and rig.worker.exchange._listener.busy)
    rig.store.client.delete("t:dead")
    until(lambda: told == [jid], 1.5)


@pytest.mark.parametrize("queues", [["a"], ["a", "b", "c"]])
def test_an_idle_thread_takes_a_pushed_job_up_at_once(queues: list[str], rigs: Rigs) -> None:
    """Engine 3.12: no polling, with one queue and with three. Reference R3, R4, R5: its waits of 0.25 to 1 s are bells
    here.
    """
    seen = rigs.recording()
    rig = rigs(concurrency=3, queues=[(name, 1) for name in queues], fetch_idle_max_interval=30.0).start()
    took = []
    for number in range(15):
        until(rig.idle, step=0.001)
        pushed = time.monotonic()
        rig.push("note", number, queue=queues[number % len(queues)])
        reaches(seen, number + 1, step=0.0005)
        took.append(time.monotonic() - pushed)
    assert max(took) < 0.5
    assert sorted(took)[len(took) // 2] < 0.05


def test_a_burst_wakes_as_many_threads_as_there_are_jobs(rigs: Rigs) -> None:
    held = rigs.holding()
    rig = rigs(concurrency=5, fetch_idle_max_interval=30.0).start()
    until(lambda: rig.idle())
    rig.push_many("hold", [()] * 5)
    until(lambda: held.started == 5, 2.0)


def test_jobs_pushed_one_by_one_reach_every_thread(rigs: Rigs) -> None:
    held = rigs.holding()
    rig = rigs(concurrency=5, fetch_idle_max_interval=30.0).start()
    for number in range(5):
        rig.push("hold")
        reaches(held.runs, number + 1, 2.0)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_resumed_queue_is_served_soon(concurrency: int, rigs: Rigs) -> None:
    """Within the interval in which an idle worker looks by itself."""
    seen = rigs.recording()
    rig = rigs(concurrency=concurrency, queues=(("a", 1), ("b", 1)), fetch_idle_max_interval=0.2)
    rig.store.queue_reader.pause("a")
    rig.start()
    rig.push("note", "paused", queue="a")
    rig.push("note", "other", queue="b")
    until(lambda: seen == ["other"])
    assert holds(lambda: seen == ["other"], 0.3)
    rig.store.queue_reader.resume("a")
    until(lambda: seen == ["other", "paused"], 1.5)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("slow", [True, False])
def test_a_foreign_push_is_found_within_the_interval(concurrency: int, slow: bool, rigs: Rigs) -> None:
    """Contract 3, `FETCH_IDLE_MAX_INTERVAL`; reference R4: a plain LPUSH rings no bell; also after long jobs, where
    nothing is fetched ahead.
    """
    seen = rigs.recording()
    rig = rigs(concurrency=concurrency, fetch_idle_max_interval=0.2).start()
    for _ in range(500 if slow else 0):
        rig.worker.exchange.pace.job(5.0)
    rig.worker.exchange.pace.trip(0.001)
    until(lambda: rig.idle())
    rig.store.client.lpush("t:queue:default", foreign("note", 1))
    until(lambda: seen == [1], 1.0)


# Giving back


def test_jobs_that_wait_behind_long_ones_go_back_to_the_front_in_order(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Engine 1: after 100 ms, so that an idle process can do them; and nothing is fetched ahead meanwhile."""
    held = rigs.holding()
    rig = rigs(concurrency=2, fetch_idle_max_interval=0.05)
    jids_pushed = rig.push_many("hold", [()] * 12)
    rig.start()
    until(lambda: held.started == 2)
    until(lambda: rig.held() == 2, 3.0)
    assert jids(queued(redis_client))[::-1] == jids_pushed[2:]
    assert not rig.worker.exchange.buffer
    assert holds(lambda: rig.held() == 2, 0.15)
    held.let_go()
    until(rig.settled)
    assert rig.counts() == (12, 0)


def test_jobs_given_back_are_done_by_an_idle_process(rigs: Rigs) -> None:
    held = rigs.holding()
    seen = rigs.recording()
    busy = rigs(concurrency=1)
    busy.push("hold")
    busy.push_many("note", [(n,) for n in range(3)])
    busy.start()
    until(lambda: held.started)
    helper = rigs(concurrency=1, fetch_idle_max_interval=30.0).start()
    until(lambda: len(seen) == 3, 3.0)
    assert [number for number in seen if number < 2] == [0, 1]
    until(lambda: helper.held() == 0)


def test_a_queue_that_does_not_take_its_jobs_back_is_not_asked_all_the_time_and_they_run_here(rigs: Rigs) -> None:
    held = rigs.holding()
    seen = rigs.recording()
    rig = rigs(concurrency=1)
    rig.push("hold")
    rig.push_many("note", [(n,) for n in range(2)])
    rig.start()
    until(lambda: held.started and len(rig.worker.exchange.hold.jobs) == 3 and rig.looked())
    rig.store.client.set("t:queue:default", "no list")
    before = rig.faults.asked
    for _ in range(4):
        time.sleep(0.1)
    assert 1 <= rig.faults.asked - before < 10
    assert rig.held() == 3
    held.let_go()
    until(lambda: seen == [0, 1])
    rig.store.client.delete("t:queue:default")
    until(rig.settled)


# The end


def test_at_the_end_unfinished_jobs_go_back_and_finished_ones_are_settled(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Reference R28, R49, P21, P27 in our form."""
    held = rigs.holding()
    rig = rigs(concurrency=1)
    jid = rig.push("hold")
    rig.start()
    until(lambda: held.started)
    assert rig.worker.exchange.requeue_rest() == 1
    assert jids(queued(redis_client)) == [jid]
    assert not redis_client.exists(f"t:inprogress:{rig.identity}")


def test_basic_mode_takes_the_whole_way(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference B1, R49."""
    seen = rigs.recording()
    failing()
    rig = rigs(reliable=False).start()
    rig.push_many("note", [(n,) for n in range(50)])
    rig.push("fail")
    until(lambda: rig.counts() == (50, 1))
    assert len(rig.retries()) == 1
    assert redis_client.keys("t:inprogress:*") == []
    held = rigs.holding()
    rig.push("hold")
    until(lambda: held.started)
    assert rig.worker.exchange.requeue_rest() == 1
    assert rig.queued() == 1
    assert sorted(seen) == list(range(50))


def test_a_server_without_rpop_with_a_count_turns_the_worker_to_basic_mode_once(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R44, R48: the job still runs, and there is exactly one warning."""
    rig = rigs(concurrency=1)
    for _ in range(2):
        rig.worker.exchange._queue_error("default: ERR wrong number of arguments for 'rpop' command")
    seen = rigs.recording()
    rig.start()
    rig.push("note", 1)
    until(lambda: seen == [1])
    assert sum("basic mode" in line for line in messages(caplog)) == 1
    assert threading.active_count() > 1


def test_a_queue_that_cannot_be_read_holds_no_other_up_and_is_reported(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    seen = rigs.recording()
    rig = rigs(queues=(("broken", 1), ("sound", 1)))
    rig.start()
    until(rig.looked)
    rig.store.client.set("t:queue:broken", "no list")
    rig.push("note", 1, queue="sound")
    until(lambda: seen == [1])
    assert any("a queue could not be read: broken: WRONGTYPE" in line for line in messages(caplog))
