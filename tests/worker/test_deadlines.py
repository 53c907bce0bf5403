"""The time limits of plain functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from cogworker_django import definition
from cogworker_django.core.errors import JobTimeout
from cogworker_django.core.middleware import Chain
from cogworker_django.core.outcome import Failed, Outcome, Succeeded
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job, job
from cogworker_django.worker import deadlines
from cogworker_django.worker.deadlines import Deadline, Deadlines
from cogworker_django.worker.runner import Runner, time_limit


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", registry)


def run(name: str, **fields: Any) -> Outcome:
    item = {"class": name, "args": [], "jid": "j1", "queue": "q", **fields}
    with closing(Runner(definition.REGISTRY, Chain(), lambda: None, lambda: None)) as runner:
        return runner.run(item, "q")


def spin(seconds: float) -> None:
    """Take time, in Python's own instructions."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_a_function_that_takes_too_long_is_ended() -> None:
    @job(name="long")
    def long() -> None:
        spin(30)

    began = time.monotonic()
    outcome = run("long", timeout=0.05)
    assert time.monotonic() - began < 5
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, JobTimeout)
    assert str(outcome.error) == "it ran longer than 0.05 s"


def test_one_that_is_quick_enough_is_left_alone_and_so_is_its_thread() -> None:
    @job(name="quick")
    def quick() -> str:
        return "done"

    assert run("quick", timeout=0.02) == Succeeded("done")
    spin(0.05)


def test_a_run_that_ends_at_the_very_end_of_its_time_raises_nowhere_else() -> None:
    @job(name="close")
    def close() -> str:
        spin(0.002)
        return "done"

    outcomes = [run("close", timeout=0.002) for _ in range(150)]
    for outcome in outcomes:
        assert outcome == Succeeded("done") or (isinstance(outcome, Failed) and isinstance(outcome.error, JobTimeout))
    spin(0.01)


@pytest.mark.parametrize("timeout", [0, -1, True, "5", None, [1], 10**400, 1e300])
def test_what_is_no_time_is_no_limit(timeout: object) -> None:
    assert time_limit({"timeout": timeout}) is None


@pytest.fixture
def made() -> Iterator[Deadlines]:
    with closing(Deadlines()) as limits:
        yield limits


def test_several_limits_are_kept_in_any_order(made: Deadlines) -> None:
    limits = made
    caught: dict[float, float] = {}

    def wait(seconds: float) -> None:
        began = time.monotonic()
        try:
            deadline = limits.arm(seconds)
            try:
                spin(5)
            finally:
                limits.release(deadline)
        except JobTimeout:
            caught[seconds] = time.monotonic() - began

    threads = [threading.Thread(target=wait, args=(seconds,)) for seconds in (0.3, 0.1, 0.2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(caught) == [0.1, 0.2, 0.3]
    assert all(took >= seconds for seconds, took in caught.items())


def test_the_deadlines_of_runs_that_have_ended_do_not_pile_up(made: Deadlines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "MOST_DISARMED", 10)
    limits = made
    for _ in range(100):
        limits.release(limits.arm(3600))
    assert len(limits._heap) <= 11


def test_one_that_is_over_fires_no_more() -> None:
    deadline = Deadline(0.0, threading.get_ident())
    deadline.disarm()
    deadline.fire()
    spin(0.01)
    assert not deadline.armed
