"""Waiting for something to become true, instead of for a time."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK = 0.02  # seconds between two looks


def eventually(
    condition: Callable[[], object], seconds: float, what: str, details: Callable[[], object] = str
) -> float:
    """Wait until a condition holds; AssertionError naming `what` when it does not in time.

    Returns:
        How many seconds it took.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"waited {seconds:g} s in vain for {what} {details()}")
        time.sleep(LOOK)
    return time.monotonic() - began


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
