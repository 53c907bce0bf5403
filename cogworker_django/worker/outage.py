"""Logging of Redis errors, collapsed while Redis is away (reference, section 23)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.text import one_line

logger = logging.getLogger("cogworker")

SUMMARY_INTERVAL = 60.0
"""Seconds between two lines about one outage."""


class Sparing:
    """Lets the same words through once a minute: for faults that are met again on every trip.

    Args:
        monotonic: the clock, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._said: dict[str, float] = {}

    def may_say(self, words: str) -> bool:
        """Whether they were not said in the last minute; they count as said now."""
        now = self._now()
        self._said = {known: at for known, at in self._said.items() if now - at < SUMMARY_INTERVAL}
        if words in self._said:
            return False
        self._said[words] = now
        return True


@dataclass(slots=True)
class _Outage:
    since: float
    reported: float
    errors: int = 1
    suppressed: int = 0


class Collapser:
    """Says once that Redis is away, then once a minute, then once that it is back; other errors every time.

    Args:
        monotonic: the clock, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._outages: dict[str, _Outage] = {}
        self._lock = threading.Lock()

    def failed(self, site: str, error: BaseException) -> None:
        """Reports an error at a named place of the worker."""
        if not isinstance(error, RedisUnavailable):
            logger.error("%s failed: %s: %s", site, type(error).__name__, one_line(str(error), 500))
            return
        with self._lock:
            line = self._line(site, error)
        if line:
            logger.error(line)

    def succeeded(self, site: str) -> None:
        """Reports that the place has really reached Redis; cheap when there was no outage."""
        if not self._outages:
            return
        with self._lock:
            outage = self._outages.pop(site, None)
        if outage:
            seconds = self._now() - outage.since
            logger.warning("%s: Redis is available again after %d errors in %.1f s", site, outage.errors, seconds)

    def is_out(self, site: str) -> bool:
        """Whether the latest report from the place was an outage."""
        return site in self._outages

    def _line(self, site: str, error: BaseException) -> str | None:
        now, text = self._now(), one_line(str(error), 500)
        outage = self._outages.get(site)
        if outage is None:
            self._outages[site] = _Outage(since=now, reported=now)
            return f"{site}: {text} (further errors are counted and summed up once a minute)"
        outage.errors += 1
        outage.suppressed += 1
        if now - outage.reported < SUMMARY_INTERVAL:
            return None
        line = f"{site}: still not available, {outage.suppressed} further errors, the latest: {text}"
        outage.reported, outage.suppressed = now, 0
        return line
