from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import pytest
import redis

from cogworker_django.store.jobsets import SetName
from cogworker_django.store.store import Store
from cogworker_django.worker.outage import Collapser
from cogworker_django.worker.scheduler import Scheduler
from tests.stores import jids, members, open_store, queued, raw_job, scored
from tests.support import StartServer

DAMAGED = [b"not json", b"{}", b"null"]


def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def arrived(client: redis.Redis, number: int) -> Callable[[], bool]:
    return lambda: client.llen("t:queue:default") >= number


class Running:
    """Schedulers of a test, stopped at its end."""

    def __init__(self) -> None:
        self.started: list[Scheduler] = []
        self.quiet = False

    def start(self, store: Store) -> Scheduler:
        scheduler = Scheduler(store.jobsets, store.clock, Collapser(), quiet=lambda: self.quiet)
        self.started.append(scheduler)
        scheduler.start()
        return scheduler


@pytest.fixture
def running(redis_client: redis.Redis) -> Iterator[Running]:
    redis_client.config_resetstat()
    schedulers = Running()
    yield schedulers
    for scheduler in schedulers.started:
        scheduler.stop()
    assert "cogworker-scheduler" not in {thread.name for thread in threading.enumerate()}


def looks(client: redis.Redis) -> int:
    """How many looks at a set there have been: two each time."""
    stats: dict[str, Any] = client.info("commandstats").get("cmdstat_zrange", {})
    return int(stats.get("calls", 0))


def settled(client: redis.Redis) -> None:
    """Waits until the scheduler has had its first looks and sleeps."""
    until(lambda: looks(client) >= 2)
    seen = -1
    while seen != looks(client):
        seen = looks(client)
        time.sleep(0.02)


def test_what_is_due_at_the_start_goes_to_its_queue_and_the_future_stays(
    store: Store, redis_client: redis.Redis, running: Running
) -> None:
    now = store.jobsets.now()
    redis_client.zadd("t:schedule", {raw_job("a" * 24): now - 5, raw_job("b" * 24): now + 1000})
    redis_client.zadd("t:retry", {raw_job("c" * 24, "low"): now - 5})
    running.start(store)
    until(lambda: redis_client.exists("t:queue:default", "t:queue:low") == 2)
    assert jids(queued(redis_client)) == ["a" * 24]
    assert jids(members(redis_client, "schedule")) == ["b" * 24]


def test_a_job_is_on_its_queue_within_fifty_milliseconds_of_being_due(
    store: Store, redis_client: redis.Redis, running: Running
) -> None:
    start = store.jobsets.now()
    due = [start + 0.1 + 0.06 * n for n in range(5)]
    redis_client.zadd("t:schedule", {raw_job(f"{n:024}"): each for n, each in enumerate(due)})
    running.start(store)
    late = []
    for n, each in enumerate(due):
        until(arrived(redis_client, n + 1))
        late.append(store.jobsets.now() - each)
    assert min(late) >= 0
    assert median(late) < 0.05  # the machine may stumble over one of them


def test_a_hint_of_an_earlier_time_wakes_the_sleeper(store: Store, redis_client: redis.Redis, running: Running) -> None:
    scheduler = running.start(store)
    settled(redis_client)
    due = store.jobsets.now() + 0.1
    redis_client.zadd("t:retry", {raw_job(): due})
    scheduler.hint(due)
    until(lambda: redis_client.exists("t:queue:default"))
    assert 0 <= store.jobsets.now() - due < 1.0


def test_the_schedules_bell_wakes_the_sleeper(store: Store, redis_client: redis.Redis, running: Running) -> None:
    scheduler = running.start(store)
    settled(redis_client)
    redis_client.zadd("t:schedule", {raw_job(): 1})
    scheduler.ring()
    until(lambda: redis_client.exists("t:queue:default"), 3.0)


def test_hints_that_tell_nothing_new_cost_no_command(store: Store, redis_client: redis.Redis, running: Running) -> None:
    due = store.jobsets.now() + 1000
    redis_client.zadd("t:schedule", {raw_job(): due})
    scheduler = running.start(store)
    settled(redis_client)
    before = looks(redis_client)
    for _ in range(1000):
        scheduler.hint(due)
        scheduler.hint(due + 5)
    time.sleep(0.05)
    assert looks(redis_client) == before


def test_a_look_costs_two_commands_when_nothing_is_due(
    store: Store, redis_client: redis.Redis, running: Running
) -> None:
    redis_client.zadd("t:schedule", {raw_job(): store.jobsets.now() + 1000})
    scheduler = running.start(store)
    settled(redis_client)

    redis_client.config_resetstat()
    scheduler.ring()
    settled(redis_client)
    stats: dict[str, dict[str, int]] = redis_client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): of["calls"] for name, of in stats.items()}
    assert {name: calls[name] for name in calls.keys() - {"info", "config|resetstat"}} == {"zrange": 2}


def test_ten_thousand_jobs_due_at_once_are_on_their_queues_soon(
    store: Store, redis_client: redis.Redis, running: Running
) -> None:
    raws = [raw_job(f"{n:024}", f"q{n % 5}", args=[n, {"text": "x" * 50}]) for n in range(10_000)]
    scheduler = running.start(store)
    took: list[float] = []
    while len(took) < 3 and min(took, default=9.0) >= 1.5:  # the machine may stumble
        redis_client.delete(*(f"t:queue:q{n}" for n in range(5)))
        due = store.jobsets.now() + 0.3
        redis_client.zadd("t:schedule", dict.fromkeys(raws, due))
        scheduler.hint(due)
        until(lambda: not redis_client.exists("t:schedule"))
        took.append(store.jobsets.now() - due)
        assert sum(redis_client.llen(f"t:queue:q{n}") for n in range(5)) == 10_000
    assert min(took) < 1.5  # the figure is measured by tests/bench


def test_two_processes_move_each_job_once(
    store: Store, redis_url: str, redis_client: redis.Redis, running: Running
) -> None:
    raws = [raw_job(f"{n:024}") for n in range(5_000)]
    redis_client.zadd("t:retry", dict.fromkeys(raws, store.jobsets.now() + 0.2))
    other = open_store(redis_url)
    running.start(store)
    running.start(other)
    until(lambda: redis_client.llen("t:queue:default") == 5_000)
    time.sleep(0.05)
    assert sorted(jids(queued(redis_client))) == [f"{n:024}" for n in range(5_000)]


def test_a_damaged_schedule_is_told_and_does_not_stop_the_retries(
    store: Store, redis_client: redis.Redis, running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set("t:schedule", "no set")
    redis_client.zadd("t:retry", {raw_job(): 1})
    scheduler = running.start(store)
    until(lambda: redis_client.exists("t:queue:default"), 3.0)
    redis_client.zadd("t:retry", {raw_job("b" * 24): 1})
    scheduler.ring()
    until(lambda: redis_client.llen("t:queue:default") == 2, 3.0)
    until(lambda: "scheduler, schedule failed: RedisRefused" in caplog.text)
    redis_client.delete("t:schedule")
    redis_client.zadd("t:schedule", {raw_job("c" * 24): 1})
    until(lambda: redis_client.llen("t:queue:default") == 3)


def test_damaged_entries_in_front_are_buried_told_and_hold_up_nobody(
    store: Store, redis_client: redis.Redis, running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B112."""
    long_text = b"line 1\nline 2 " + b"x" * 500
    for name in ("schedule", "retry"):
        redis_client.zadd(f"t:{name}", dict.fromkeys(DAMAGED, 0))
        redis_client.zadd(f"t:{name}", {raw_job(f"{name[0]}{n:023}"): 1 for n in range(100)})
    redis_client.zadd("t:retry", {long_text: 0})
    running.start(store)
    until(lambda: redis_client.llen("t:queue:default") == 200)
    until(lambda: caplog.text.count("is no job and was moved to dead") == 7)
    assert not redis_client.exists("t:schedule", "t:retry")
    assert redis_client.zcard("t:dead") == 7
    assert redis_client.get("t:stats:failed") == b"7"
    [line] = [record.getMessage() for record in caplog.records if "line 1" in record.getMessage()]
    assert line.endswith("line 1\\nline 2 " + "x" * 186 + "…")


def test_a_job_that_its_queue_refuses_waits_a_minute_and_is_told(
    store: Store, redis_client: redis.Redis, running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set("t:queue:broken", "no list")
    redis_client.zadd("t:schedule", {raw_job("a" * 24, "broken"): 1, raw_job(): 2})
    running.start(store)
    until(lambda: redis_client.exists("t:queue:default"))
    until(lambda: "waits a minute: WRONGTYPE" in caplog.text)
    [(_, due)] = scored(redis_client, "schedule")
    assert due == pytest.approx(store.jobsets.now() + 60, abs=5)


def test_a_quiet_process_moves_nothing_until_it_is_resumed(
    store: Store, redis_client: redis.Redis, running: Running
) -> None:
    running.quiet = True
    redis_client.zadd("t:schedule", {raw_job(): 1})
    scheduler = running.start(store)
    for _ in range(10):
        scheduler.hint(1.0)
        time.sleep(0.005)
    assert looks(redis_client) == 0
    running.quiet = False
    scheduler.ring()
    until(lambda: redis_client.exists("t:queue:default"), 3.0)


def test_an_outage_is_told_once_and_the_thread_goes_on_afterwards(
    start_server: StartServer, running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    server = start_server(persistent=True)
    store = open_store(server.url)
    scheduler = running.start(store)
    until(lambda: looks(store.client) >= 2)
    store.client.zadd("t:schedule", {raw_job(): store.jobsets.now() + 0.3})
    server.stop()
    scheduler.ring()
    until(lambda: "Redis is not available" in caplog.text)
    time.sleep(0.1)
    server.start()
    until(lambda: store.client.exists("t:queue:default"))
    lines = [record.getMessage() for record in caplog.records]
    assert sum("Redis is not available" in line for line in lines) == 1
    assert sum("Redis is available again" in line for line in lines) == 1
    store.client.close()


def test_forgotten_scripts_are_sent_again(store: Store, redis_client: redis.Redis, running: Running) -> None:
    scheduler = running.start(store)
    for n in range(3):
        redis_client.script_flush()
        redis_client.zadd("t:schedule", {raw_job(f"{n:024}"): 1})
        scheduler.ring()
        until(lambda: not redis_client.exists("t:schedule"))
    assert redis_client.llen("t:queue:default") == 3


def test_a_process_whose_clock_is_ahead_still_follows_the_servers(
    store: Store, redis_client: redis.Redis, running: Running
) -> None:
    due = store.jobsets.now() + 0.2
    redis_client.zadd("t:schedule", {raw_job(): due})
    store.clock.tell(due + 3_600)
    running.start(store)
    until(lambda: redis_client.exists("t:queue:default"))
    assert 0 <= store.jobsets.now() - due < 1.0


def test_dead_jobs_past_their_age_go_although_nothing_is_filed(
    redis_url: str, redis_client: redis.Redis, running: Running
) -> None:
    store = open_store(redis_url, dead_max_age=0.3)
    redis_client.zadd("t:dead", {"old": store.jobsets.now() - 1, "young": store.jobsets.now() + 0.2})
    scheduler = running.start(store)
    until(lambda: members(redis_client, "dead") == [b"young"])
    deadline = time.monotonic() + 5
    while redis_client.exists("t:dead") and time.monotonic() < deadline:
        scheduler.ring()
        time.sleep(0.05)
    assert store.jobsets.size(SetName.DEAD) == 0


def test_a_stop_does_not_wait_for_the_sleep_to_end(store: Store, redis_client: redis.Redis, running: Running) -> None:
    scheduler = running.start(store)
    settled(redis_client)
    began = time.monotonic()
    scheduler.stop()
    assert time.monotonic() - began < 1.5
