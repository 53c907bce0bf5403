"""How large the scenarios are: small with every change, long in a soak."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("COGWORKER_SOAK"))
"""Whether this is a soak."""


def size(ci: int, long: int) -> int:
    """One of the two sizes of a scenario.

    Args:
        ci: with every change, in seconds.
        long: in a soak, in minutes.
    """
    return long if LONG else ci
