"""The tasks of about once a minute: each by itself."""

from __future__ import annotations

import pytest

from cogworker_django.core.errors import RedisRefused, RedisUnavailable
from cogworker_django.worker.outage import Collapser
from cogworker_django.worker.upkeep import RETRY_AFTER, Task, Upkeep
from tests.worker.rigs import messages, until

INTERVAL = 60.0


def failing(error: Exception) -> Task:
    def step() -> None:
        raise error

    return Task("failing", step)


def test_each_task_is_done_at_once_and_then_at_the_interval() -> None:
    done: list[str] = []
    upkeep = Upkeep([Task(name, lambda name=name: done.append(name)) for name in "ab"], Collapser(), interval=INTERVAL)  # type: ignore[misc]
    assert INTERVAL - 1 < upkeep.round() <= INTERVAL
    assert upkeep.round() > INTERVAL - 2
    assert done == ["a", "b"]


def test_a_task_may_ask_to_be_done_sooner() -> None:
    upkeep = Upkeep([Task("eager", lambda: 3.0), Task("patient", lambda: None)], Collapser(), interval=INTERVAL)
    assert 2.5 < upkeep.round() <= 3.0


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (RedisUnavailable("away"), RETRY_AFTER),
        (RedisRefused("Redis refused a command: OOM"), INTERVAL),
        (ZeroDivisionError("a bug"), INTERVAL),
    ],
)
def test_one_that_fails_is_told_and_costs_the_others_nothing(
    error: Exception, again: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference 10.1, 14: sooner again when the connection was lost."""
    done: list[int] = []
    upkeep = Upkeep([failing(error), Task("sound", lambda: done.append(1))], Collapser(), interval=INTERVAL)
    assert again - 1 < upkeep.round() <= again
    assert done == [1]
    [line] = messages(caplog)
    assert line.startswith("failing")


def test_at_a_small_interval_a_lost_connection_does_not_wait_longer_than_that() -> None:
    assert Upkeep([failing(RedisUnavailable("away"))], Collapser(), interval=0.5).round() <= 0.5


def test_its_thread_does_the_tasks_until_it_is_stopped() -> None:
    done: list[int] = []
    upkeep = Upkeep([Task("often", lambda: done.append(1))], Collapser(), interval=0.01)
    upkeep.start()
    until(lambda: len(done) > 2)
    upkeep.stop()
    number = len(done)
    assert not upkeep._thread.is_alive()
    assert upkeep.round() >= 0
    assert len(done) == number
