"""The one place where an idle process waits, on a real server."""

from __future__ import annotations

import threading

import pytest
import redis

from cogworker_django.store.process_reader import Signal
from cogworker_django.store.store import Store
from cogworker_django.worker.listener import Listener
from tests.support import StartServer
from tests.worker.rigs import until

ME = "host:1:me"


class Ears:
    """A listener and what it heard."""

    def __init__(self, store: Store) -> None:
        self.commands: list[str] = []
        self.schedules = 0
        self.store = store
        self.listener = Listener(
            store.bells(5.0),
            store.keys,
            ME,
            ["a", "b"],
            on_command=self.commands.append,
            on_schedule=self._scheduled,
        )

    def _scheduled(self) -> None:
        self.schedules += 1


@pytest.fixture
def ears(store: Store) -> Ears:
    return Ears(store)


def test_the_bell_of_any_of_its_queues_is_heard(ears: Ears, redis_client: redis.Redis) -> None:
    for queue in "ab":
        redis_client.rpush(f"t:bell:{queue}", "1")
        assert ears.listener.listen()
    assert redis_client.keys("t:bell:*") == []


def test_the_schedules_bell_is_passed_on_and_is_no_job(ears: Ears, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:schedule_bell", "1")
    assert not ears.listener.listen()
    assert ears.schedules == 1


def test_commands_are_passed_on_one_by_one_in_order(ears: Ears, store: Store) -> None:
    """Engine 3.10: kept in Redis until the process has read them."""
    for signal in (Signal.QUIET, Signal.RESUME, Signal.STOP):
        store.process_reader.signal(ME, signal)
    for _ in range(3):
        assert not ears.listener.listen()
    assert ears.commands == ["quiet", "resume", "stop"]


def test_a_command_comes_before_the_bells(ears: Ears, store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:bell:a", "1")
    store.process_reader.signal(ME, Signal.QUIET)
    assert not ears.listener.listen()
    assert ears.commands == ["quiet"]
    assert redis_client.llen("t:bell:a") == 1


def test_a_quiet_process_hears_commands_only(ears: Ears, store: Store, redis_client: redis.Redis) -> None:
    """Quiet processes wait on neither bells nor the schedule: their tokens are for others."""
    redis_client.rpush("t:bell:a", "1")
    redis_client.rpush("t:schedule_bell", "1")
    store.process_reader.signal(ME, Signal.RESUME)
    ears.listener.quiet = True
    assert not ears.listener.listen()
    assert ears.commands == ["resume"]
    assert (redis_client.llen("t:bell:a"), redis_client.llen("t:schedule_bell")) == (1, 1)


def test_a_token_taken_at_the_moment_of_becoming_quiet_is_put_back(ears: Ears, redis_client: redis.Redis) -> None:
    """Else the job that it stands for would wake nobody."""
    heard: list[bool] = []
    thread = threading.Thread(target=lambda: heard.append(ears.listener.listen()))
    thread.start()
    until(lambda: redis_client.info("clients")["blocked_clients"])
    ears.listener.quiet = True
    redis_client.rpush("t:bell:b", "1")
    thread.join(5)
    assert heard == [False]
    assert redis_client.llen("t:bell:b") == 1


def test_the_bells_of_paused_queues_are_not_waited_at(ears: Ears, redis_client: redis.Redis) -> None:
    ears.listener.paused = frozenset({"a"})
    redis_client.rpush("t:bell:a", "1")
    redis_client.rpush("t:bell:b", "2")
    assert ears.listener.listen()
    assert redis_client.llen("t:bell:a") == 1


def test_one_thread_waits_at_a_time(ears: Ears) -> None:
    entered, busy = [ears.listener.enter()], [ears.listener.busy]
    entered.append(ears.listener.enter())
    ears.listener.leave()
    busy.append(ears.listener.busy)
    entered.append(ears.listener.enter())
    assert (entered, busy) == ([True, False, True], [True, False])


def test_the_one_who_waits_can_be_woken_without_a_bell(ears: Ears, redis_client: redis.Redis) -> None:
    heard: list[bool] = []

    def wait() -> None:
        assert ears.listener.enter()
        heard.append(ears.listener.listen())
        ears.listener.leave()

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: redis_client.info("clients")["blocked_clients"])
    ears.listener.wake()
    thread.join(5)
    assert heard == [False]
    assert ears.commands == []
    assert redis_client.keys("t:*") == []


def test_waking_nobody_leaves_nothing_behind(ears: Ears, redis_client: redis.Redis) -> None:
    ears.listener.wake()
    assert redis_client.keys("t:*") == []


def test_waking_while_redis_is_away_is_harmless(start_server: StartServer, ears: Ears) -> None:
    ears.store.client.connection_pool.disconnect()
    assert ears.listener.enter()
    ears.store.client.connection_pool.connection_kwargs["port"] = 1
    ears.listener.wake()


def test_a_look_finds_jobs_that_no_bell_has_announced(ears: Ears, redis_client: redis.Redis) -> None:
    assert not ears.listener.sees_jobs()
    redis_client.lpush("t:queue:b", "job")
    assert ears.listener.sees_jobs()


def test_where_a_queue_is_paused_a_look_is_always_worth_a_trip(ears: Ears) -> None:
    """Only a trip can tell whether it still is."""
    ears.listener.paused = frozenset({"a"})
    assert ears.listener.sees_jobs()
