"""Periodic entries through whole workers and by themselves (reference 15, group T)."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import pytest
import redis

from cogworker_django import LockHeld, definition
from cogworker_django.api.periodic_set import PeriodicEntry, PeriodicSet
from cogworker_django.client import JobClient
from cogworker_django.core.config import StatusConfig
from cogworker_django.core.cron import Cron
from cogworker_django.core.entry import Entry
from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.middleware import Chain
from cogworker_django.definition import job
from cogworker_django.features.firing import Firing
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.dispatcher import RedisDispatcher
from cogworker_django.store.store import Store
from cogworker_django.worker import ticker as module
from cogworker_django.worker.outage import Collapser
from cogworker_django.worker.ticker import Ticker
from tests.stores import open_store, queued
from tests.support import StartServer
from tests.worker.rigs import Rig, Rigs, messages, until

EVERY_MINUTE, YEARLY = "* * * * *", "0 0 1 1 *"


def entry(name: str = "entry", cron: str = EVERY_MINUTE, **fields: Any) -> Entry:
    return Entry(name=name, cron=Cron(cron, "UTC"), job="note", **fields)


def ticker(store: Store, *entries: Entry, middleware: Any = None, quiet: bool = False) -> Ticker:
    """One that is not started: `round` does what its thread does."""
    clock = RedisClock()
    clock.tell(store.jobsets.now())
    chain = Chain([(middleware, {})]) if middleware else None
    client = JobClient(RedisDispatcher(store.queues), registry=definition.REGISTRY, chain=chain)
    return Ticker(entries, store.periodic, Firing(store.periodic, client), clock, Collapser(), quiet=lambda: quiet)


def slots(client: redis.Redis) -> dict[bytes, bytes]:
    found: Any = client.hgetall("t:periodic:slots")
    return dict(found)


def latest(cron: str = EVERY_MINUTE) -> int:
    found = Cron(cron, "UTC").latest(time.time())
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def registered(rigs: Rigs) -> list[Any]:
    return rigs.recording()


# A slot


def test_a_slot_that_is_due_is_fired_once_with_its_entry_and_time(store: Store, redis_client: redis.Redis) -> None:
    """Case T4, T20, T21, T22."""
    several = [ticker(store, entry(args=[7], cron=YEARLY)) for _ in range(3)]
    for each in several * 2:
        each.round()
    [raw] = queued(redis_client)
    payload = json.loads(raw)
    assert (payload["class"], payload["args"], payload["queue"]) == ("note", [7], "default")
    assert (payload["periodic_name"], payload["periodic_slot"]) == ("entry", latest(YEARLY))
    assert slots(redis_client) == {b"entry": str(latest(YEARLY)).encode()}
    assert redis_client.keys("t:unique:*") == []
    assert redis_client.llen("t:bell:default") == 1


def test_the_jobs_own_options_hold_and_the_entrys_override_them(store: Store, redis_client: redis.Redis) -> None:
    """Engine 3.5: upstream pushes to default with none of them."""

    @job(name="choosy", queue="low", retry=3, tag="x")
    def choosy() -> None: ...

    plain = Entry(name="a", cron=Cron(YEARLY, "UTC"), job="choosy")
    own = Entry(name="b", cron=Cron(YEARLY, "UTC"), job="choosy", options={"queue": "high", "retry": 0})
    ticker(store, plain, own).round()
    [low], [high] = queued(redis_client, "low"), queued(redis_client, "high")
    assert b'"retry":3' in low
    assert b'"tag":"x"' in low
    assert b'"retry":0' in high


def test_of_all_that_was_missed_only_the_latest_is_fired(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset("t:periodic:slots", "entry", latest() - 3600)
    each = ticker(store, entry())
    each.round()
    each.round()
    assert len(queued(redis_client)) == 1
    assert int(slots(redis_client)[b"entry"]) >= latest() - 60


def test_without_catch_up_a_cold_start_only_notes_the_slot(store: Store, redis_client: redis.Redis) -> None:
    """Case T24, T25."""
    for _ in range(2):
        ticker(store, entry(cron=YEARLY, catch_up=False)).round()
    assert queued(redis_client) == []
    assert slots(redis_client) == {b"entry": str(latest(YEARLY)).encode()}


def test_with_a_last_slot_it_catches_up_all_the_same(store: Store, redis_client: redis.Redis) -> None:
    """Case T26."""
    redis_client.hset("t:periodic:slots", "entry", 5)
    ticker(store, entry(cron=YEARLY, catch_up=False)).round()
    assert len(queued(redis_client)) == 1


def test_it_waits_for_the_next_slot_and_not_much_longer_than_five_seconds(store: Store) -> None:
    assert ticker(store, entry(cron=YEARLY)).round() == module.LONGEST
    each = ticker(store, entry())
    each._clock.tell(latest() + 58.5)
    assert 0 < each.round() <= 1.5


def test_a_slot_that_is_not_due_on_the_servers_clock_is_not_fired(store: Store, redis_client: redis.Redis) -> None:
    """Engine, "Times": slots follow Redis's clock."""
    each = ticker(store, entry())
    each.round()
    redis_client.delete("t:queue:default")
    each._clock.tell(latest() + 3600.0)
    assert each.round() <= module.EARLY
    assert queued(redis_client) == []


def test_a_clock_that_was_ahead_for_a_while_keeps_no_entry_waiting_for_that_time(
    store: Store, redis_client: redis.Redis
) -> None:
    """Engine, "Times": the host's clock jumps years ahead, and is set right before the slot of then is fired."""
    each = ticker(store, entry(cron=YEARLY))
    each.round()
    [state] = each._states
    each._clock.tell(time.time() + 3 * 366 * 86_400)
    each.round()
    each._clock.tell(time.time())
    state.resting_until = 0.0
    each.round()
    assert state.next == Cron(YEARLY, "UTC").next_after(time.time())
    assert len(queued(redis_client)) == 1


def test_a_clock_that_goes_back_a_little_asks_redis_nothing(store: Store, redis_client: redis.Redis) -> None:
    """Each beat corrects the estimate a little."""
    each = ticker(store, entry(cron=YEARLY))
    each.round()
    redis_client.delete("t:periodic:slots")
    each._clock.tell(each._clock.now() - 0.5)
    each.round()
    assert slots(redis_client) == {}
    assert len(queued(redis_client)) == 1


def test_an_entry_that_was_fired_for_a_time_to_come_is_told_and_begins_anew_when_it_is_switched_off_and_on(
    store: Store, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """The clock was ahead when it was fired: a slot is fired once all the same, and somebody has to know."""
    ahead = latest(YEARLY) + 3 * 366 * 86_400
    redis_client.hset("t:periodic:slots", "entry", ahead)
    each = ticker(store, entry(cron=YEARLY))
    each.round()
    [line] = [line for line in messages(caplog, logging.WARNING) if "periodic entry" in line]
    told = time.strftime("%FT%TZ", time.gmtime(ahead))
    assert line.startswith(f"periodic entry entry is not fired before {told}")
    [state] = each._states
    # Its next time by the clock, not the one after the record: it is fired once the record is right again.
    assert state.next == Cron(YEARLY, "UTC").next_after(time.time())
    state.next = latest(YEARLY)
    each.round()
    assert queued(redis_client) == []
    assert store.periodic.disable("entry")
    assert store.periodic.enable("entry")
    assert int(slots(redis_client)[b"entry"]) <= time.time()


def test_a_last_slot_of_just_now_is_no_warning(
    store: Store, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """A process may know of the time a little later than the one that fired."""
    each = ticker(store, entry())
    redis_client.hset("t:periodic:slots", "entry", int(each._clock.now()) + 3)
    each.round()
    assert not any("is not fired before" in line for line in messages(caplog, logging.WARNING))


def test_a_quiet_process_fires_nothing(store: Store, redis_client: redis.Redis) -> None:
    """Case T14."""
    assert ticker(store, entry(), quiet=True).round() == module.AWAY
    assert redis_client.keys("*") == []


def test_many_at_the_same_moment_have_one_winner_each(redis_url: str, redis_client: redis.Redis) -> None:
    names = [f"entry {n}" for n in range(20)]
    stores = [open_store(redis_url) for _ in range(10)]
    barrier = threading.Barrier(len(stores))

    def go(store: Store) -> None:
        each = ticker(store, *(entry(name, YEARLY) for name in names))
        barrier.wait(10)
        each.round()

    threads = [threading.Thread(target=go, args=[store]) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    for store in stores:
        store.client.close()
    assert len(queued(redis_client)) == len(names)


# Errors


def test_one_failing_entry_stops_no_other_and_rests(
    store: Store, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Case T8, T16, T27: and the slot is still to be fired, with no lock left (T11, T12)."""

    def picky(name: str, payload: dict[str, Any], queue: str, connection: object, proceed: Any) -> Any:
        if payload["periodic_name"] == "bad":
            raise ValueError("not this one")
        return proceed()

    each = ticker(
        store, entry("bad", YEARLY, options={"unique": "until_executed"}), entry("good", YEARLY), middleware=picky
    )
    assert each.round() == pytest.approx(module.FIRST_BACKOFF, abs=0.5)
    assert len(queued(redis_client)) == 1
    assert set(slots(redis_client)) == {b"good"}
    assert redis_client.keys("t:unique:*") == []
    [bad, _] = each._states
    for expected in (10, 20, 40, 80, 160, 300, 300):
        bad.resting_until = 0.0
        each.round()
        assert bad.resting_until - time.monotonic() == pytest.approx(expected, abs=1)
    assert any("periodic entry bad could not be fired: ValueError: not this one" in line for line in messages(caplog))


def test_a_queue_that_takes_no_jobs_leaves_the_slot_to_be_fired(store: Store, redis_client: redis.Redis) -> None:
    """Case T11, T13, T29, T30: claim and push are one step, so there is nothing to roll back."""
    redis_client.set("t:queue:default", "no list")
    each = ticker(store, entry(cron=YEARLY, options={"unique": "until_executed"}))
    each.round()
    assert slots(redis_client) == {}
    assert redis_client.keys("t:unique:*") == []
    redis_client.delete("t:queue:default")
    each._states[0].resting_until = 0.0
    each.round()
    assert len(queued(redis_client)) == 1


def test_while_redis_is_away_it_tries_again_without_resting(start_server: StartServer) -> None:
    """Case T28, B031: one summary, and what was missed runs once when it is back."""
    server = start_server(persistent=True)
    store = open_store(server.url)
    each = ticker(store, entry(cron=YEARLY))
    server.kill()
    for _ in range(3):
        assert each.round() == module.AWAY
    server.start()
    until(lambda: each.round() == module.LONGEST)
    assert store.client.llen("t:queue:default") == 1
    store.client.close()


def test_a_look_that_asks_nothing_reports_no_end_of_an_outage(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Case T31."""
    caplog.set_level(logging.INFO)
    server = start_server(persistent=True)
    store = open_store(server.url)
    each = ticker(store, entry(cron=YEARLY), entry("never before", YEARLY))
    each.round()
    each._outages.failed("periodic entries", RedisUnavailable("away"))
    assert each.round() == module.LONGEST
    assert not any("available again" in line for line in messages(caplog, logging.INFO))
    store.client.close()


def test_a_slot_that_middleware_refuses_is_done_with(store: Store, redis_client: redis.Redis) -> None:
    """Case T7."""
    for _ in range(2):
        ticker(store, entry(cron=YEARLY, options={"unique": "until_executed"}), middleware=lambda *_: None).round()
    assert queued(redis_client) == []
    assert slots(redis_client) == {b"entry": str(latest(YEARLY)).encode()}
    assert redis_client.keys("t:unique:*") == []


def test_middleware_may_give_the_job_a_due_time(store: Store, redis_client: redis.Redis) -> None:
    def later(name: str, payload: dict[str, Any], queue: str, connection: object, proceed: Any) -> Any:
        payload["at"] = 9e9
        return proceed()

    for _ in range(2):
        ticker(store, entry(cron=YEARLY), middleware=later).round()
    assert redis_client.zcard("t:schedule") == 1
    assert queued(redis_client) == []


@pytest.mark.parametrize("damaged", ["t:periodic:disabled", "t:periodic:runs"])
def test_damage_beside_stops_no_firing(
    damaged: str, store: Store, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Case T17."""
    redis_client.set(damaged, "damaged")
    ticker(store, entry(cron=YEARLY)).round()
    assert len(queued(redis_client)) == 1
    told = any("which periodic entries are disabled cannot be read" in line for line in messages(caplog))
    assert told is ("disabled" in damaged)


@pytest.mark.parametrize("damaged", ["odd", "inf", "nan", "-5", "1e300", "0x7fffffffff", "9" * 12, "9" * 400, ""])
def test_a_last_slot_that_is_no_time_counts_as_none(damaged: str, store: Store, redis_client: redis.Redis) -> None:
    """Else the entry would never be fired again, and nobody told why."""
    redis_client.hset("t:periodic:slots", "entry", damaged)
    ticker(store, entry(cron=YEARLY)).round()
    assert len(queued(redis_client)) == 1
    assert slots(redis_client) == {b"entry": str(latest(YEARLY)).encode()}


@pytest.mark.parametrize("damaged", ["9" * 12, "9" * 15, "odd"])
def test_a_last_slot_that_is_no_time_is_not_shown(damaged: str, store: Store, redis_client: redis.Redis) -> None:
    store.periodic.publish({"entry": entry().published()}, 10.0)
    redis_client.hset("t:periodic:slots", "entry", damaged)
    [found] = PeriodicSet(store)
    assert found.last_slot is None


@pytest.mark.parametrize(
    "shown",
    [
        b"{}",
        b'{"cron":[],"timezone":5,"job":null,"args":5,"kwargs":[1],"queue":{}}',
        b'{"args":{"a":1},"kwargs":"x"}',
        b"[]",
        b"5",
        b"no json",
    ],
)
def test_a_damaged_entry_hides_no_other(shown: bytes, store: Store, redis_client: redis.Redis) -> None:
    """Engine 3.8."""
    store.periodic.publish({"odd": shown, "sound": entry().published()}, 10.0)
    redis_client.hset("t:periodic:runs", "sound", "5")
    found = {each.name: each for each in PeriodicSet(store)}
    assert (found["sound"].cron, found["sound"].last_run) == (EVERY_MINUTE, {})
    if "odd" in found:
        assert (found["odd"].args, found["odd"].kwargs, found["odd"].next_slot) == ([], {}, None)


# Switching off and on


def test_a_disabled_entry_fires_nothing_and_claims_nothing(store: Store, redis_client: redis.Redis) -> None:
    """Case T18."""
    assert store.periodic.disable("entry")
    each = ticker(store, entry(cron=YEARLY, options={"unique": "until_executed"}))
    each.round()
    assert not store.periodic.disable("entry")
    assert redis_client.keys("*") == [b"t:periodic:disabled"]


def test_a_disabled_entry_is_not_primed_either(store: Store, redis_client: redis.Redis) -> None:
    """Case T18: nothing at all is written of it, and it is looked at again when it is due."""
    store.periodic.disable("entry")
    each = ticker(store, entry(cron=YEARLY, catch_up=False))
    each.round()
    assert redis_client.keys("*") == [b"t:periodic:disabled"]
    assert each._states[0].next == Cron(YEARLY, "UTC").next_after(time.time())


def test_what_was_due_while_it_was_off_is_not_fired_when_it_is_switched_on(
    store: Store, redis_client: redis.Redis
) -> None:
    """Case B033, also for a process that starts only then; T19 is upstream's, where such a one fires it."""
    store.periodic.disable("entry")
    old = ticker(store, entry(cron=YEARLY))
    old.round()
    assert store.periodic.enable("entry")
    assert not store.periodic.enable("entry")
    for each in (old, ticker(store, entry(cron=YEARLY))):
        each.round()
    assert queued(redis_client) == []


# Unique entries

ALONE = {"unique": "until_executed"}


def test_a_unique_entry_waits_a_while_for_its_earlier_job_and_is_skipped_then(
    store: Store, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Case T4, T5, T32, T33."""
    caplog.set_level(logging.INFO)
    ticker(store, entry(cron=YEARLY, options=ALONE)).round()
    [lock] = redis_client.scan_iter("t:unique:*")
    assert 86_000 < redis_client.ttl(lock) <= 86_400
    redis_client.hset("t:periodic:slots", "entry", 5)
    each = ticker(store, entry(cron=YEARLY, options=ALONE))
    assert each.round() <= module.BLOCKED_LOOK
    assert slots(redis_client) == {b"entry": b"5"}
    [state] = each._states
    assert state.blocked_since is not None
    state.blocked_since -= module.GRACE
    state.resting_until = 0.0
    each.round()
    assert len(queued(redis_client)) == 1
    assert slots(redis_client) == {b"entry": str(latest(YEARLY)).encode()}
    assert any("skipped: entry" in line for line in messages(caplog))


def test_a_blocked_slot_is_fired_once_the_lock_is_free(store: Store, redis_client: redis.Redis) -> None:
    """Case T32, T34."""
    ticker(store, entry(cron=YEARLY, options=ALONE)).round()
    redis_client.hset("t:periodic:slots", "entry", 5)
    each = ticker(store, entry(cron=YEARLY, options=ALONE))
    each.round()
    redis_client.delete(*redis_client.scan_iter("t:unique:*"))
    each._states[0].resting_until = 0.0
    each.round()
    assert len(queued(redis_client)) == 2


# Whole workers


def started(rigs: Rigs, *entries: Entry, **settings: Any) -> Rig:
    rig = rigs(entries=entries, **settings)
    return rig.start()


def shown(rig: Rig, name: str = "entry") -> PeriodicEntry:
    found = PeriodicSet(rig.store).find(name)
    assert found is not None
    return found


def test_a_worker_fires_runs_and_shows_its_entries(
    rigs: Rigs, registered: list[Any], redis_client: redis.Redis
) -> None:
    """Case T6, T23, T35, T36: the lock goes with the job, and the last run tells how it ended."""
    rig = started(rigs, entry(cron=YEARLY, args=[5], options=ALONE))
    until(lambda: registered == [5] and rig.settled())
    until(lambda: PeriodicSet(rig.store).find("entry"))
    found = shown(rig)
    assert (found.cron, found.timezone, found.job, found.args, found.enabled) == (YEARLY, "UTC", "note", [5], True)
    assert found.last_slot is not None
    assert found.last_slot.timestamp() == latest(YEARLY)
    assert found.next_slot is not None
    assert found.next_slot.timestamp() == Cron(YEARLY, "UTC").next_after(time.time())
    assert (found.last_run["outcome"], found.last_run["slot"]) == ("complete", latest(YEARLY))
    assert redis_client.keys("t:unique:*") == []


@pytest.mark.parametrize(("retry", "outcome", "locks"), [(5, "retrying", 1), (0, "failed", 0)])
def test_a_failed_run_is_told_and_keeps_its_lock_as_long_as_it_comes_again(
    retry: int, outcome: str, locks: int, rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Case T37, T38; T39 to T41 are upstream's second lock: ours is that of any unique job."""

    @job(name="fail")
    def fail() -> None:
        raise ValueError("no")

    failing = Entry(name="entry", cron=Cron(YEARLY, "UTC"), job="fail", options={**ALONE, "retry": retry})
    rig = started(rigs, failing)
    until(lambda: sum(rig.counts()) == 1 and rig.settled())
    assert rig.store.periodic.runs()["entry"]["outcome"] == outcome
    assert len(redis_client.keys("t:unique:*")) == locks


def test_run_now_pushes_the_job_whatever_its_slots(
    rigs: Rigs, registered: list[Any], redis_client: redis.Redis
) -> None:
    rig = started(rigs, entry(cron=YEARLY, args=[5]))
    until(lambda: registered == [5] and PeriodicSet(rig.store).find("entry"))
    before = slots(redis_client)
    jid = run_now(rig)
    until(lambda: registered == [5, 5] and rig.settled())
    assert slots(redis_client) == before
    run = rig.store.periodic.runs()["entry"]
    assert (run["jid"], run["slot"], run["outcome"]) == (jid, None, "complete")


def run_now(rig: Rig) -> str:
    """As from code of the project: through the runtime of its process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cogworker_django.api.periodic_set.current", lambda: rig.runtime)
        return shown(rig).run_now()


def test_run_now_of_a_unique_entry_takes_its_lock_or_says_who_holds_it(rigs: Rigs, redis_client: redis.Redis) -> None:
    held = rigs.holding()
    rig = started(rigs, Entry(name="entry", cron=Cron(YEARLY, "UTC"), job="hold", options=ALONE))
    until(lambda: held.started == 1 and PeriodicSet(rig.store).find("entry"))
    holder = rig.store.periodic.runs()["entry"]["jid"]
    with pytest.raises(LockHeld) as caught:
        run_now(rig)
    assert caught.value.holder == holder
    held.let_go()
    until(lambda: rig.settled() and not redis_client.keys("t:unique:*"))
    assert run_now(rig)


def test_an_entry_that_no_process_shows_any_more_goes_from_the_list(store: Store, redis_client: redis.Redis) -> None:
    """Engine 3.7."""
    store.periodic.publish({"old": b"{}", "kept": b"{}"}, 10.0)
    redis_client.hset("t:periodic:seen", "old", redis_client.time()[0] - 11)
    redis_client.hset("t:periodic:entries", "odd", "no json")
    store.periodic.publish({"kept": b"{}", "new": b"{}"}, 10.0)
    assert set(store.periodic.published()) == {"kept", "new"}
    assert [each.name for each in PeriodicSet(store)] == ["kept", "new"]


def test_switches_of_the_shown_entries(rigs: Rigs, registered: list[Any]) -> None:
    rig = started(rigs, entry(cron=YEARLY))
    until(lambda: PeriodicSet(rig.store).find("entry"))
    assert shown(rig).disable()
    assert not shown(rig).enabled
    assert shown(rig).enable()
    assert shown(rig).enabled
    assert PeriodicSet(rig.store).find("nobody") is None


def test_a_worker_without_entries_has_no_ticker_and_shows_nothing(rigs: Rigs, redis_client: redis.Redis) -> None:
    rig = rigs().start()
    until(lambda: rig.idle())
    assert "cogworker-ticker" not in {thread.name for thread in threading.enumerate()}
    assert redis_client.keys("t:periodic:*") == []


def test_a_worker_whose_code_has_no_entries_any_more_takes_the_old_ones_off(
    rigs: Rigs, store: Store, redis_client: redis.Redis
) -> None:
    """Engine 3.7: also when the last entry of the project has gone."""
    store.periodic.publish({"old": b"{}", "young": b"{}"}, 10.0)
    redis_client.hset("t:periodic:seen", "old", redis_client.time()[0] - 86_400)
    rigs().start()
    until(lambda: redis_client.hkeys("t:periodic:entries") == [b"young"])
    assert redis_client.hkeys("t:periodic:seen") == [b"young"]


def test_fired_jobs_are_followed_like_others(rigs: Rigs, registered: list[Any]) -> None:
    rig = started(rigs, entry(cron=YEARLY), status=StatusConfig())
    until(lambda: len(registered) == 1 and rig.settled())
    found = rig.store.statuses.get(rig.store.periodic.runs()["entry"]["jid"])
    assert found is not None
    assert found["status"] == "complete"
