"""When a periodic job is due (reference 16; the rules of Debian's cron)."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cogworker_django.core.cron import Cron


def upcoming(expression: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The next times in UTC; `after` is local."""
    begin = datetime.fromisoformat(after)
    begin = begin if begin.tzinfo else begin.replace(tzinfo=ZoneInfo(zone))
    found = Cron(expression, zone).upcoming(begin, count)
    assert all(when.tzinfo == ZoneInfo(zone) for when in found)
    return [when.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ") for when in found]


# Clocks that change


def test_a_fixed_time_in_a_gap_comes_at_the_first_instant_after_it() -> None:
    """Case B001."""
    assert upcoming("30 2 * * *", "2026-03-28", 4, "Europe/Berlin") == [
        "2026-03-28T01:30Z",
        "2026-03-29T01:00Z",
        "2026-03-30T00:30Z",
        "2026-03-31T00:30Z",
    ]


@pytest.mark.parametrize("minute", range(60))
def test_wherever_in_a_gap_a_fixed_time_lies_it_comes_once_at_the_very_end(minute: int) -> None:
    cron = Cron(f"{minute} 2 * * *", "Europe/Berlin")
    end = datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp()
    assert cron.next_after(end - 3600) == end
    assert cron.next_after(end) == end + 86_400 - 3600 + 60 * minute
    assert cron.latest(end) == end


def test_a_fixed_time_in_an_overlap_comes_once_at_the_first_of_the_two() -> None:
    """Case B003."""
    assert upcoming("30 2 * * *", "2026-10-24", 3, "Europe/Berlin") == [
        "2026-10-24T00:30Z",
        "2026-10-25T00:30Z",
        "2026-10-26T01:30Z",
    ]


@pytest.mark.parametrize(("day", "runs"), [("2026-11-01", 25), ("2026-03-08", 23)])
def test_an_hourly_entry_follows_real_time(day: str, runs: int) -> None:
    """Case B005."""
    zone = ZoneInfo("America/New_York")
    begin = datetime.fromisoformat(day).replace(tzinfo=zone)
    end = begin.astimezone(UTC).timestamp() + runs * 3600
    cron, found = Cron("0 * * * *", "America/New_York"), []
    epoch: float = begin.timestamp() - 1
    while (epoch := cron.next_after(epoch)) < end:
        found.append(epoch)
    assert found == [begin.timestamp() + 3600 * n for n in range(runs)]
    assert end == (begin + timedelta(days=1)).timestamp()


def test_no_entry_drifts_after_a_change() -> None:
    """Case B007."""
    days = ["10-30", "10-31", "11-01", "11-02", "11-03"]
    assert upcoming("0 20 * * *", "2022-10-30T00:00+02:00", 5, "Europe/Paris") == [f"2022-{d}T19:00Z" for d in days]
    vienna = Cron("30 * * * *", "Europe/Vienna")
    times = [when.timestamp() for when in vienna.upcoming(datetime(2017, 10, 28, 8, 9, tzinfo=UTC), 40)]
    assert {later - sooner for sooner, later in pairwise(times)} == {3600.0}


@pytest.mark.parametrize(
    ("expression", "after", "zone", "expected"),
    [
        # Half an hour, back and forth.
        ("15 2 * * *", "2026-10-03T12:00", "Australia/Lord_Howe", ["2026-10-03T15:30Z", "2026-10-04T15:15Z"]),
        ("45 1 * * *", "2026-04-04T12:00", "Australia/Lord_Howe", ["2026-04-04T14:45Z", "2026-04-05T15:15Z"]),
        ("*/30 * * * *", "2026-04-05T01:20", "Australia/Lord_Howe", ["2026-04-04T14:30Z", "2026-04-04T15:00Z"]),
        # The day that Samoa left out: what was named for it comes at its end.
        ("30 2 * * *", "2011-12-29T12:00", "Pacific/Apia", ["2011-12-30T10:00Z", "2011-12-30T12:30Z"]),
        ("0 */6 * * *", "2011-12-29T19:00", "Pacific/Apia", ["2011-12-30T10:00Z", "2011-12-30T16:00Z"]),
        # A minute field with a star, an hour that is left out: nothing on that day.
        ("*/20 2 * * *", "2026-03-28T02:30", "Europe/Berlin", ["2026-03-28T01:40Z", "2026-03-30T00:00Z"]),
        ("*/20 2 * * *", "2026-10-25T02:30", "Europe/Berlin", ["2026-10-25T00:40Z", "2026-10-25T01:00Z"]),
        # Several fixed times in one gap are one instant.
        ("0,30 2 * * *", "2026-03-29T00:00", "Europe/Berlin", ["2026-03-29T01:00Z", "2026-03-30T00:00Z"]),
    ],
)
def test_odd_changes_of_clocks(expression: str, after: str, zone: str, expected: list[str]) -> None:
    assert upcoming(expression, after, len(expected), zone) == expected


def test_an_entry_is_read_in_its_zone() -> None:
    """Case B010."""
    hours = ["01", "02", "03", "04", "05"]
    assert upcoming("25 8-16 * * *", "2026-09-10T00:00+00:00", 5, "Asia/Jakarta") == [
        f"2026-09-10T{hour}:25Z" for hour in hours
    ]


# Fields


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        # Case B013
        ("0 0 31 * *", "2026-01-31T00:01", ["2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31", "2026-10-31"]),
        ("0 0 29 2 *", "2025-01-01", ["2028-02-29", "2032-02-29", "2036-02-29", "2040-02-29", "2044-02-29"]),
        # Case B017
        ("0 0 31 2 0", "2026-01-01", ["2026-02-01", "2026-02-08", "2026-02-15", "2026-02-22", "2027-02-07"]),
        # Case B020
        ("0 0 31/5 * *", "2026-01-01", ["2026-01-31", "2026-03-31", "2026-05-31"]),
        ("0 0 * * 6/2", "2026-01-01", ["2026-01-03", "2026-01-10", "2026-01-17"]),
        # Case B023
        ("0 0 L * *", "2026-01-15", ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]),
        ("0 0 L 2 *", "2026-01-01", ["2026-02-28", "2027-02-28", "2028-02-29"]),
        # Case B025
        ("0 0 * * 7", "2026-01-01", ["2026-01-04", "2026-01-11"]),
        ("0 0 * * 5-7", "2026-01-01", ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-09", "2026-01-10"]),
        ("0 0 * * 6-7", "2026-01-01", ["2026-01-03", "2026-01-04", "2026-01-10"]),
        ("0 0 * * SUN-THU", "2026-01-01", ["2026-01-04", "2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08"]),
        ("0 0 * * sat-sun", "2026-01-01", ["2026-01-03", "2026-01-04", "2026-01-10"]),
        ("0 0 * * mon-sun", "2026-01-02", ["2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06"]),
        ("0 0 * * 5/2", "2026-01-01", ["2026-01-02", "2026-01-09"]),
        ("0 0 * jan,Mar MON", "2026-01-20", ["2026-01-26", "2026-03-02"]),
        ("0 0 * * fri#2", "2026-01-01", ["2026-01-09", "2026-02-13"]),
        ("0 0 * * 7#1,wed#5", "2026-01-01", ["2026-01-04", "2026-02-01", "2026-03-01", "2026-04-05", "2026-04-29"]),
        ("0 0 * * fri#L", "2026-01-01", ["2026-01-30", "2026-02-27"]),
        ("0 0 * * L5", "2026-01-01", ["2026-01-30", "2026-02-27"]),
        # Both fields of days: either, unless one begins with a star.
        ("0 0 13 * 5", "2026-01-01", ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]),
        ("0 0 */13 * 5", "2026-01-01", ["2026-02-27", "2026-03-27", "2026-05-01"]),
        ("0 0 13 * */6", "2026-01-01", ["2026-06-13", "2026-09-13", "2026-12-13"]),
        ("@weekly", "2026-01-01", ["2026-01-04", "2026-01-11"]),
        ("@yearly", "2026-01-02", ["2027-01-01"]),
        ("  @Monthly ", "2026-01-02", ["2026-02-01"]),
    ],
)
def test_the_days_that_match(expression: str, after: str, expected: list[str]) -> None:
    assert [when[:10] for when in upcoming(expression, after, len(expected))] == expected


def test_a_field_of_days_that_begins_with_a_star_makes_both_match() -> None:
    """Case B019."""
    days = ["05-13", "05-27", "06-03", "06-17", "07-01"]
    assert upcoming("0 16 */2 * 6", "2023-05-01", 5) == [f"2023-{day}T16:00Z" for day in days]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("59/15 * * * *", ["00:59", "01:59", "02:59"]),
        ("0 23/6 * * *", ["23:00", "23:00"]),
        ("*/90 * * * *", ["01:00", "02:00"]),
        ("10-20/5,59 1 * * *", ["01:10", "01:15", "01:20", "01:59", "01:10"]),
        ("5/20 0 * * *", ["00:05", "00:25", "00:45"]),
        ("@hourly", ["01:00", "02:00"]),
        ("@noon", ["12:00"]),
        ("@midnight", ["00:00"]),
    ],
)
def test_the_times_that_match(expression: str, expected: list[str]) -> None:
    """Case B020."""
    assert [when[11:16] for when in upcoming(expression, "2026-01-01", len(expected))] == expected


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        # Case B016
        ("0 0 30 2 *", "no date ever matches '0 0 30 2 *'"),
        ("0 0 31 4,6,9,11 *", "no date ever matches"),
        # Case B021
        ("5-5/0 * * * *", "the minute cannot be '5-5/0': a step is 1 or more"),
        ("*/0 * * * *", "the minute cannot be '*/0': a step is 1 or more"),
        ("60 * * * *", "the minute cannot be '60': it is 0 to 59"),
        ("0 24 * * *", "the hour cannot be '24': it is 0 to 23"),
        ("0 0 0 * *", "the day of month cannot be '0': it is 1 to 31"),
        ("0 0 32 * *", "the day of month cannot be '32'"),
        ("0 0 * 13 *", "the month cannot be '13': it is 1 to 12, or jan, feb"),
        ("0 0 * * 8", "the day of week cannot be '8': it is 0 to 7, or sun, mon"),
        ("", "'' has 0 fields, not five: minute, hour, day of month, month, day of week"),
        ("* * * *", "has 4 fields, not five"),
        ("@reboot", "'@reboot' is none of @annually, @daily"),
        ("H H * * *", "the minute cannot be 'h'"),
        # Case B026
        ("*/15 * * * * *", "'*/15 * * * * *' has six fields, and there are no seconds"),
        ("* * * * * */15", "has six fields, and there are no seconds"),
        ("0 0 1 1 * 0 2027", "has 7 fields"),
        ("22-2 * * * *", "a range begins with the smaller number"),
        ("* * * * fri-mon", "a range begins with the smaller number"),
        ("*-5 * * * *", "* is no end of a range"),
        ("1,,2 * * * *", "the minute cannot be '': it holds"),
        ("-5 * * * *", "the minute cannot be '-5': it holds"),
        ("1-2-3 * * * *", "it holds *, numbers, ranges"),
        ("5L * * * *", "the minute cannot be '5l'"),
        ("0 0 ? * *", "the day of month cannot be '?'"),
        ("0 0 15W * *", "the day of month cannot be '15w'"),
        ("0 0 L-3 * *", "the day of month cannot be"),
        ("0 0 * * mon#6", "the day of week cannot be 'mon#6'"),
        ("0 0 * * 9#2", "the day of week cannot be '9#2': it is 0 to 7"),
        ("0 0 * * L9", "the day of week cannot be 'l9': it is 0 to 7"),
        ("0 0 * * 1,5#2", "a list holds either days of the week or n-th ones"),
        ("٣ * * * *", "the minute cannot be"),
        ("1e1 * * * *", "the minute cannot be '1e1'"),
        ("R * * * *", "the minute cannot be 'r'"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_field(expression: str, told: str) -> None:
    with pytest.raises(ValueError, match="e") as caught:
        Cron(expression, "UTC")
    assert told in str(caught.value)


def test_what_is_wrong_is_told_in_one_sentence_with_the_part_that_is() -> None:
    for expression, told in {
        "22-2 * * * *": "the minute cannot be '22-2': a range begins with the smaller number",
        "0,*-5 * * * *": "the minute cannot be '*-5': * is no end of a range",
        "1-60 * * * *": "the minute cannot be '1-60': it is 0 to 59",
        "0 0 * * 1,5#2": (
            "the day of week cannot be '1,5#2': a list holds either days of the week or n-th ones, not both"
        ),
        "60 * * * *": "the minute cannot be '60': it is 0 to 59",
        "0 0 * * 8": "the day of week cannot be '8': it is 0 to 7, or sun, mon, tue, wed, thu, fri, sat",
    }.items():
        with pytest.raises(ValueError, match="^" + re.escape(told) + "$"):
            Cron(expression, "UTC")


@pytest.mark.parametrize("expression", [None, b"* * * * *", 5, ["*"] * 5])
def test_what_is_no_text_is_refused(expression: Any) -> None:
    with pytest.raises(TypeError) as caught:
        Cron(expression, "UTC")
    assert str(caught.value) == f"a cron expression is a string of five fields, not {expression!r}"


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "Europe", "../etc/passwd", "/etc/passwd", "UTC\0", "é"])
def test_a_zone_that_is_none_is_refused_and_never_read_as_utc(zone: str) -> None:
    """Case B012."""
    with pytest.raises(ValueError, match="there is no time zone"):
        Cron("* * * * *", zone)
    with pytest.raises(TypeError, match="a time zone is named by a string, not 5"):
        Cron("* * * * *", 5)  # type: ignore[arg-type]


# The latest


def test_the_latest_is_the_one_at_or_before() -> None:
    cron = Cron("*/10 * * * *", "UTC")
    assert cron.latest(600) == 600
    assert cron.latest(1199.9) == 600
    assert cron.latest(1200) == 1200
    assert (
        Cron("0 0 29 2 *", "UTC").latest(datetime(2027, 1, 1, tzinfo=UTC).timestamp())
        == datetime(2024, 2, 29, tzinfo=UTC).timestamp()
    )


@pytest.mark.parametrize("expression", ["30 2 * * *", "*/7 * * * *", "*/20 2 * * *", "0 */3 * * *", "15 1,2,3 * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"])
def test_latest_and_next_are_the_two_neighbours_of_any_instant(expression: str, zone: str) -> None:
    cron = Cron(expression, zone)
    for year, month, day in ((2026, 3, 28), (2026, 10, 24), (2026, 4, 4), (2026, 10, 3), (2018, 2, 17), (2011, 12, 29)):
        begin = datetime(year, month, day, tzinfo=UTC).timestamp()
        for step in range(0, 3 * 86_400, 1_571):
            instant = begin + step
            before, after = cron.latest(instant), cron.next_after(instant)
            assert before is not None
            assert before <= instant < after
            assert cron.next_after(before) == after
            assert cron.latest(after - 1) == before


def test_the_latest_is_found_although_the_clocks_have_gone_back_before_it() -> None:
    """It is 1:10 for the second time."""
    second = datetime(2026, 11, 1, 6, 10, tzinfo=UTC).timestamp()
    assert Cron("30 1 * * *", "America/New_York").latest(second) == second - 2400


def test_searches_are_quick_and_bounded() -> None:
    began = time.monotonic()
    for expression in ("0 0 29 2 *", "0 0 29 2 */2", "0 0 31 12 */6", "59 23 31 12 *"):
        Cron(expression, "Europe/Berlin").next_after(1.7e9)
    assert time.monotonic() - began < 2


def test_the_end_of_the_calendar_ends_a_search() -> None:
    with pytest.raises(ValueError, match=r"^'0 0 \* \* \*' matches no date before the year 9000$"):
        Cron("0 0 * * *", "UTC").next_after(datetime(8999, 12, 31, 12, tzinfo=UTC).timestamp())
    assert Cron("0 0 * * *", "UTC").latest(datetime(9001, 1, 1, tzinfo=UTC).timestamp()) is None


def test_the_rarest_of_all_days_has_a_latest_too() -> None:
    """29 February on a Sunday: around 1900 after 40 years."""
    cron = Cron("0 0 29 2 */7", "UTC")
    last, now = (datetime(year, 2, day, tzinfo=UTC).timestamp() for year, day in ((1880, 29), (1920, 28)))
    assert (cron.latest(now), cron.next_after(last)) == (last, now + 86_400)
