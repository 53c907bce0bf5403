"""What a thread gets when it asks for work, at the moments at which things cross."""

from __future__ import annotations

import time

import pytest
import redis

from cogworker_django.worker.listener import Listener
from tests.worker.rigs import Rigs, until


def test_a_thread_that_begins_to_wait_at_the_moment_of_a_stop_goes_home(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had asked whether there is a stop just before: nobody wakes it, so it must ask again."""
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
