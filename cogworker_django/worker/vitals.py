"""When Redis was last reached, as a process knows it of itself: what its health is told by."""

from __future__ import annotations

import time
from collections.abc import Callable


class Vitals:
    """Remembers the latest fetch and the latest settlement that Redis has confirmed.

    Args:
        monotonic: the clock, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._fetched = self._settled = monotonic()

    @property
    def since_fetch(self) -> float:
        """Seconds since Redis last answered this process when it fetched, waited or looked for jobs; an idle process
        asks every second, one whose threads are all busy, quiet or full does not ask.
        """
        return self._now() - self._fetched

    @property
    def since_settle(self) -> float:
        """Seconds since it last confirmed that something is settled; says nothing while nothing waits for it."""
        return self._now() - self._settled

    def fetched(self) -> None:
        """Redis has answered a fetch, or a wait or a look for jobs."""
        self._fetched = self._now()

    def settled(self) -> None:
        """It has confirmed what had finished."""
        self._settled = self._now()
