from __future__ import annotations

import logging

import pytest

from cogworker_django.core.errors import RedisDenied, RedisRefused, RedisUnavailable
from cogworker_django.worker.outage import QUIET_AFTER, SUMMARY_INTERVAL, Collapser

AWAY = RedisUnavailable("Redis is not available: refused")


class Time:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def collapser(time: Time) -> Collapser:
    return Collapser(time)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_an_outage_is_one_line_one_summary_a_minute_and_one_line_at_its_end(
    collapser: Collapser, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference O2."""
    for _ in range(100):
        collapser.failed("exchange", AWAY)
        time.seconds += SUMMARY_INTERVAL * 2.5 / 100
    collapser.succeeded("exchange")
    first, second, third, last = lines(caplog)
    assert first.startswith("exchange: Redis is not available: refused (further errors")
    assert second.startswith("Redis is still not available, 40 further errors, the latest: exchange: Redis is not")
    assert "still not available, 40 further errors" in third
    assert last == "Redis is available again after 100 errors in 150.0 s"
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3 + [logging.WARNING]


def test_a_success_without_an_outage_says_nothing(collapser: Collapser, caplog: pytest.LogCaptureFixture) -> None:
    collapser.succeeded("exchange")
    assert lines(caplog) == []


def test_the_end_of_an_outage_is_told_once(collapser: Collapser, caplog: pytest.LogCaptureFixture) -> None:
    collapser.failed("exchange", AWAY)
    collapser.succeeded("exchange")
    collapser.succeeded("exchange")
    assert len(lines(caplog)) == 2


def test_an_outage_of_many_places_is_one_and_ends_when_each_has_reached_redis(
    collapser: Collapser, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference O4: a place is back once it has really reached Redis itself. One line in all: ours (engine 3.13)."""
    collapser.failed("exchange", AWAY)
    collapser.failed("heartbeat", AWAY)
    collapser.succeeded("exchange")
    collapser.succeeded("scheduler")
    assert not collapser.is_out("exchange")
    assert collapser.is_out("heartbeat")
    assert len(lines(caplog)) == 1
    collapser.succeeded("heartbeat")
    assert lines(caplog)[1:] == ["Redis is available again after 2 errors in 0.0 s"]


def test_a_place_that_has_nothing_to_do_does_not_hold_the_end_up_for_ever(
    collapser: Collapser, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    collapser.failed("recovery", AWAY)
    collapser.failed("exchange", AWAY)
    collapser.succeeded("exchange")
    assert len(lines(caplog)) == 1
    time.seconds += QUIET_AFTER
    collapser.succeeded("exchange")
    assert len(lines(caplog)) == 2


def test_the_next_outage_is_told_anew(collapser: Collapser, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        collapser.failed("exchange", AWAY)
        collapser.succeeded("exchange")
    assert len(lines(caplog)) == 4
    assert lines(caplog)[3].startswith("Redis is available again after 1 errors")


@pytest.mark.parametrize("error", [RedisRefused("Redis refused a command: WRONGTYPE"), KeyError("ours")])
def test_other_errors_are_told_every_time(
    error: Exception, collapser: Collapser, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference O3."""
    for _ in range(3):
        collapser.failed("exchange", error)
    assert len(lines(caplog)) == 3
    assert type(error).__name__ in lines(caplog)[0]


def test_an_error_with_line_ends_is_one_line(collapser: Collapser, caplog: pytest.LogCaptureFixture) -> None:
    """Case B087: no line of the log can be forged."""
    collapser.failed("exchange", RedisUnavailable("away\r\n2026 INFO: forged\x1b[2K"))
    [line] = lines(caplog)
    assert "\n" not in line
    assert "\x1b" not in line


def test_a_server_that_lets_nobody_in_is_told_like_one_that_is_away(
    collapser: Collapser, caplog: pytest.LogCaptureFixture
) -> None:
    """A right that was taken away fails on every trip, until somebody gives it back."""
    for _ in range(5):
        collapser.failed("exchange", RedisDenied("Redis does not let us in: NOPERM"))
    collapser.succeeded("exchange")
    first, last = lines(caplog)
    assert first.startswith("exchange: Redis does not let us in: NOPERM")
    assert "available again after 5 errors" in last
