"""A pytest plugin for mutmut, which puts two frames of its own around each call of a function that it changes."""

from __future__ import annotations

import sys


def pytest_configure() -> None:
    """Leave the functions of the core as many frames of their own as they have without mutmut."""
    sys.setrecursionlimit(3 * sys.getrecursionlimit())
