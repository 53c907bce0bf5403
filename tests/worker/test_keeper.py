"""What the keeper does by itself; the rest of it shows in the tests of the exchange."""

from __future__ import annotations

import threading
import time

import pytest

from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.store.connection import connect
from cogworker_django.store.gateway import Gateway
from tests.worker.rigs import Rigs, foreign, holds, messages, reaches, until


def test_it_survives_an_error_of_its_own(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seen = rigs.recording()
    rig = rigs(fetch_idle_max_interval=0.05)
    keeper = rig.worker.keeper
    tend, troubles = keeper._tend, [RuntimeError("a bug")]

    def sometimes() -> None:
        if troubles:
            raise troubles.pop()
        tend()

    monkeypatch.setattr(keeper, "_tend", sometimes)
    rig.start()
    rig.push_many("note", [(n,) for n in range(50)])
    until(lambda: len(seen) == 50 and rig.settled())
    rig.push_many("note", [(n,) for n in range(50)])
    until(lambda: not troubles and len(seen) == 100 and rig.settled())
    assert any("the keeper met an error" in line for line in messages(caplog))


def test_it_looks_for_foreign_jobs_only_while_a_thread_is_idle(rigs: Rigs) -> None:
    held = rigs.holding()
    seen = rigs.recording()
    rig = rigs(concurrency=1, fetch_idle_max_interval=0.02)
    for _ in range(100):
        rig.worker.exchange.pace.job(60.0)
    rig.push("hold")
    rig.start()
    reaches(held.runs, 1)
    rig.store.client.lpush("t:queue:default", foreign("note", 1))
    assert holds(lambda: rig.held() == 1, 0.2)
    held.let_go()
    until(lambda: seen == [1])


def test_a_quiet_process_does_not_look(rigs: Rigs) -> None:
    seen = rigs.recording()
    rig = rigs(fetch_idle_max_interval=0.02).start()
    rig.worker.set_quiet(True)
    rig.store.client.lpush("t:queue:default", foreign("note", 1))
    assert holds(lambda: not seen and rig.held() == 0, 0.2)


def test_an_unreachable_look_is_reported_once_and_its_end_too(rigs: Rigs, caplog: pytest.LogCaptureFixture) -> None:
    rig = rigs(fetch_idle_max_interval=0.02).start()
    until(rig.idle)
    sound = rig.worker._listener._bells._ordinary
    rig.worker._listener._bells._ordinary = Gateway(
        connect(RedisTarget(host="127.0.0.1", port=1), connections=1), sound.keys
    )
    until(lambda: rig.worker._outages.is_out("looking for jobs"))
    time.sleep(0.1)
    rig.worker._listener._bells._ordinary = sound
    until(lambda: not rig.worker._outages.is_out("looking for jobs"))
    assert sum(line.startswith("looking for jobs") for line in messages(caplog)) == 1
    assert sum(line.startswith("Redis is available again") for line in messages(caplog)) == 1


def test_it_ends_at_a_stop(rigs: Rigs) -> None:
    rig = rigs(fetch_idle_max_interval=30.0).start()
    began = time.monotonic()
    rig.stop()
    assert time.monotonic() - began < 3
    assert "cogworker-keeper" not in {thread.name for thread in threading.enumerate()}
