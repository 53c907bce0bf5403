"""How long to wait before Redis is asked again after an error."""

from __future__ import annotations

import random
import time

FIRST = 0.05
"""Seconds after the first error: a restarted server is found quickly."""
MOST = 2.0
"""Seconds at most: everything moves again well within 15 s of the return."""


class Backoff:
    """Doubles from 0.05 s to 2 s, each wait shortened by up to a half, so that processes do not ask in step."""

    def __init__(self) -> None:
        self._next = FIRST
        self._until = 0.0

    @property
    def left(self) -> float:
        """Seconds until Redis may be asked again; not positive when it may be asked now."""
        return self._until - time.monotonic()

    def failed(self) -> float:
        """Counts an error; seconds to wait now."""
        wait = self._next * random.uniform(0.5, 1.0)
        self._next = min(MOST, self._next * 2)
        self._until = time.monotonic() + wait
        return wait

    def succeeded(self) -> None:
        """Starts over."""
        self._next = FIRST
