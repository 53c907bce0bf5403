"""Delays and due times as callers give them (Contract 2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from cogworker_django.core.text import described

# Epoch seconds of year 1 and of the end of year 9999: what datetime, and so every page, can show.
EARLIEST = -62_135_596_800.0
LATEST = 253_402_300_799.0

ToTimestamp = Callable[[datetime], float]


def seconds(duration: object, name: str) -> float:
    """Read a duration.

    Args:
        duration: seconds, or a timedelta.
        name: what to call it in an error.

    Returns:
        Seconds; may be negative.

    Raises:
        TypeError: it is neither a number nor a timedelta.
        ValueError: it is NaN, infinite or too large.
    """
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    return _number(duration, name, "seconds or a timedelta")


def due(when: object, naive_to_timestamp: ToTimestamp) -> float:
    """Read a due time.

    Args:
        when: an aware datetime, a naive one, or epoch seconds.
        naive_to_timestamp: reads a naive datetime in the zone it is meant in; never called for others.

    Returns:
        Epoch seconds.

    Raises:
        TypeError: it is neither a datetime nor a number.
        ValueError: it is NaN, infinite or outside the years 1 to 9999.
    """
    if isinstance(when, datetime):
        # utcoffset() decides, not tzinfo: a tzinfo may return None and leave the datetime naive.
        return when.timestamp() if when.utcoffset() is not None else float(naive_to_timestamp(when))
    if isinstance(when, date):
        raise TypeError(f"the time must be a datetime or epoch seconds, not the date {when}: add a time of day")
    return within_calendar(_number(when, "the time", "a datetime or epoch seconds"), "the time")


def within_calendar(timestamp: float, name: str) -> float:
    """Check that a time can be shown as a date.

    Args:
        timestamp: epoch seconds.
        name: what to call it in an error.

    Raises:
        ValueError: it is outside the years 1 to 9999.
    """
    if EARLIEST <= timestamp <= LATEST:
        return timestamp
    raise ValueError(f"{name} is outside the years 1 to 9999: {described(timestamp)} in epoch seconds")


def told(value: Any) -> float | None:
    """Read a time as something in Redis tells it.

    Args:
        value: any JSON value.

    Returns:
        Epoch seconds; None for everything but a finite number.
    """
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def refuse_naive(when: datetime) -> float:
    """Stand in for a zone where none is known.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"the datetime {when} has no time zone, and no current one is known here: make it aware")


def _number(value: object, name: str, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be {expected}, not {described(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isfinite(number):
        return number
    raise ValueError(f"{name} must be a finite number, not {described(value)}")
