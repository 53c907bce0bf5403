"""What a thread gets when it asks for work, at the moments at which things cross."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

import pytest
import redis

from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.exchange import Chore
from cogworker_django.worker.listener import Listener
from tests.stores import raw_job
from tests.worker.rigs import Rigs, messages, until


def test_a_thread_that_begins_to_wait_at_the_moment_of_a_stop_goes_home(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reference R6. It had asked whether there is a stop just before: nobody wakes it, so it must ask again."""
    rig = rigs(concurrency=1)
    enter = Listener.enter

    def enter_late(listener: Listener) -> bool:
        rig.worker.close()
        return enter(listener)

    monkeypatch.setattr(Listener, "enter", enter_late)
    began = time.monotonic()
    rig.start()
    until(lambda: not rig.worker.running)
    assert time.monotonic() - began < 2.0


def test_a_bell_that_rings_for_a_stopping_process_is_left_to_others(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = rigs(concurrency=1).start()
    until(lambda: rig.worker.exchange._listener.busy)
    # The wake-up for the stop is lost; the bell ends the wait instead.
    monkeypatch.setattr(Listener, "wake", lambda listener: None)
    rig.worker.close()
    rig.push("nobody.is.there.to.run.it")
    until(lambda: not rig.worker.running)
    assert redis_client.llen("t:bell:default") == 1
    assert rig.queued() == 1


def test_a_thread_that_begins_to_wait_late_during_a_stop_is_sent_home_before_its_list_of_commands_goes(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first wait opens a connection, which takes longer than the rest of a stop."""
    rig = rigs(concurrency=1)
    listen = Listener.listen

    def listen_late(listener: Listener) -> bool:
        while not rig.worker.exchange.closed:
            time.sleep(0.001)
        time.sleep(0.05)
        return listen(listener)

    monkeypatch.setattr(Listener, "listen", listen_late)
    rig.start()
    until(lambda: rig.worker.exchange._listener.busy)
    began = time.monotonic()
    rig.stop()
    assert time.monotonic() - began < 2.0


def test_hooks_that_recovery_hands_over_run_at_once_on_an_idle_process(rigs: Rigs) -> None:
    """Also where its only thread waits at the bells."""
    ran: list[float] = []
    rig = rigs(concurrency=1, fetch_idle_max_interval=30.0).start()
    until(rig.idle)
    rig.worker._handout.add_chore(lambda: ran.append(time.monotonic()))
    until(lambda: ran, 2.0)


def test_a_hook_taken_by_another_thread_at_that_moment_costs_nobody_a_pause(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    class Contested(deque[Chore]):
        """Somebody else is always faster, once."""

        faster = 1

        def popleft(self) -> Chore:
            if self.faster and self:
                self.faster -= 1
                raise IndexError
            return super().popleft()

    ran: list[int] = []
    rig = rigs(concurrency=1)
    rig.worker._handout._chores = rig.worker.exchange.chores = Contested()
    rig.start()
    rig.worker._handout.add_chore(lambda: ran.append(1))
    until(lambda: ran == [1], 2.0)
    assert messages(caplog) == []


def test_hooks_nobody_came_to_are_handed_out_at_the_end(rigs: Rigs) -> None:
    rig = rigs()
    ran: list[int] = []
    rig.worker._handout.add_chore(lambda: ran.append(1))
    rig.worker._handout.add_chore(lambda: ran.append(2))
    for chore in rig.worker._handout.leftover():
        chore()
    assert ran == [1, 2]
    assert rig.worker._handout.leftover() == []


def test_a_job_whose_way_back_is_uncertain_is_looked_up_before_it_runs(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case B062: the server has put it back on its queue, and only the reply was lost."""
    held, seen = rigs.holding(), rigs.recording()
    rig = rigs(concurrency=1)
    trips = rig.worker.exchange._trips
    lost: list[int] = []
    give_back = trips.give_back

    def without_reply(deliveries: Sequence[Delivery]) -> set[str]:
        moved = give_back(deliveries)
        if lost:
            return moved
        lost.append(len(deliveries))
        held.let_go()
        raise RedisUnavailable("Redis is not available: the reply was lost by the test")

    monkeypatch.setattr(trips, "give_back", without_reply)
    rig.worker.exchange.pace.ahead = 10
    rig.push("hold")
    rig.push_many("note", [(number,) for number in range(5)])
    rig.start()
    until(lambda: rig.settled() and len(seen) >= 5)
    assert lost == [5]
    assert sorted(seen) == [0, 1, 2, 3, 4]
    assert rig.counts() == (6, 0)


def test_in_basic_mode_nothing_can_be_looked_up_so_what_waited_long_just_runs(rigs: Rigs) -> None:
    seen = rigs.recording()
    rig = rigs(concurrency=1, reliable=False, fetch_idle_max_interval=0.05).start()
    until(rig.idle)
    rig.faults.away = True
    raw = raw_job(args=["old"], **{"class": "note"})
    old = Delivery(7, "default", raw, time.monotonic() - 5, False)
    rig.worker.exchange.hold.add([old])
    rig.worker.exchange.buffer.extend([old])
    rig.worker._handout._wake_everybody()
    until(lambda: seen == ["old"], 2.0)
