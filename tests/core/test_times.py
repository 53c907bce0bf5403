from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from cogworker_django.core.times import EARLIEST, LATEST, due, refuse_naive, seconds, told

NEW_YORK = ZoneInfo("America/New_York")
NOON_UTC = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()


class NoOffset(tzinfo):
    def utcoffset(self, when: datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, when: datetime | None) -> None:
        return None


def in_new_york(naive: datetime) -> float:
    return naive.replace(tzinfo=NEW_YORK).timestamp()


@pytest.mark.parametrize(
    ("duration", "value"), [(5, 5.0), (0.5, 0.5), (-3, -3.0), (timedelta(minutes=1, microseconds=1), 60.000001)]
)
def test_a_duration_is_seconds_or_a_timedelta(duration: object, value: float) -> None:
    assert seconds(duration, "the delay") == value


@pytest.mark.parametrize("duration", ["5", None, True, Decimal(5), [5], datetime(2026, 1, 1)])
def test_other_durations_are_a_type_error(duration: object) -> None:
    with pytest.raises(TypeError, match="the delay must be seconds or a timedelta"):
        seconds(duration, "the delay")


@pytest.mark.parametrize("duration", [math.nan, math.inf, -math.inf, 10**400])
def test_a_duration_that_is_no_finite_number_is_a_value_error(duration: float) -> None:
    with pytest.raises(ValueError, match="the delay must be a finite number"):
        seconds(duration, "the delay")


def test_an_aware_datetime_is_read_in_its_own_zone() -> None:
    tokyo = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert due(datetime.fromisoformat("2026-07-01T12:00+00:00"), refuse_naive) == NOON_UTC
    assert due(tokyo, refuse_naive) == NOON_UTC - 9 * 3600


def test_a_naive_datetime_is_read_by_whoever_knows_the_current_zone() -> None:
    assert due(datetime(2026, 7, 1, 12), in_new_york) == NOON_UTC + 4 * 3600
    assert due(datetime(2026, 7, 1, 12, tzinfo=NoOffset()), in_new_york) == NOON_UTC + 4 * 3600


def test_a_naive_datetime_is_refused_where_no_zone_is_known() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        due(datetime(2026, 7, 1, 12), refuse_naive)


def test_numbers_are_epoch_seconds_past_ones_too() -> None:
    assert due(5, refuse_naive) == 5.0
    assert due(1_800_000_000.25, refuse_naive) == 1_800_000_000.25
    assert due(-1, refuse_naive) == -1.0


@pytest.mark.parametrize("when", ["2026-07-01", None, True, timedelta(1), Decimal(5)])
def test_other_times_are_a_type_error(when: object) -> None:
    with pytest.raises(TypeError, match="the time must be a datetime or epoch seconds"):
        due(when, refuse_naive)


def test_a_date_is_a_type_error_that_says_what_is_missing() -> None:
    with pytest.raises(TypeError, match="add a time of day"):
        due(date(2026, 7, 1), refuse_naive)


@pytest.mark.parametrize("when", [math.nan, math.inf, 10**400])
def test_a_time_that_is_no_finite_number_is_a_value_error(when: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        due(when, refuse_naive)


@pytest.mark.parametrize("when", [1e12, -1e12, 1e300])
def test_a_time_that_no_calendar_shows_is_a_value_error(when: float) -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        due(when, refuse_naive)


@pytest.mark.parametrize("when", [EARLIEST, LATEST])
def test_the_first_and_the_last_second_of_the_calendar_are_times(when: float) -> None:
    assert due(when, refuse_naive) == when


def test_a_time_told_by_redis_is_a_finite_number_or_none_at_all() -> None:
    assert (told(5), told(-1.5), told(1e300)) == (5.0, -1.5, 1e300)
    values: list[object] = [None, True, "5", [], {}, math.inf, math.nan, 10**400]
    for value in values:
        assert told(value) is None
