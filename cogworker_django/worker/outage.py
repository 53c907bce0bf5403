"""Logging of Redis errors, collapsed while Redis is away or lets nobody in (reference, section 23; engine 3.13)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cogworker_django.core.errors import RedisDenied, RedisUnavailable
from cogworker_django.core.text import one_line

logger = logging.getLogger("cogworker")

SUMMARY_INTERVAL = 60.0
"""Seconds between two lines about one outage."""
QUIET_AFTER = 10.0
"""Seconds after the latest error in which a place that has nothing to do holds the end of an outage up."""


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
    latest: float
    places: set[str] = field(default_factory=set)
    """Where Redis was missed and has not been met again."""
    errors: int = 0
    suppressed: int = 0


class Collapser:
    """Says once that Redis is away, then once a minute, then once that it is back; other errors every time.

    An outage is the whole process's, however many places meet it: it ends when each of them has reached Redis again,
    since a broken connection may be found out late, or when nothing has failed for a while.

    Args:
        monotonic: the clock, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._outage: _Outage | None = None
        self._lock = threading.Lock()

    def failed(self, place: str, error: BaseException) -> None:
        """Reports an error at a named place of the worker."""
        if not isinstance(error, RedisUnavailable | RedisDenied):
            logger.error("%s failed: %s: %s", place, type(error).__name__, one_line(str(error), 500))
            return
        with self._lock:
            line = self._line(place, one_line(str(error), 500))
        if line:
            logger.error(line)

    def succeeded(self, place: str) -> None:
        """Reports that the place has really reached Redis; cheap when there was no outage."""
        if self._outage is not None:
            with self._lock:
                ended = self._back(place)
            if ended:
                seconds = self._now() - ended.since
                logger.warning("Redis is available again after %d errors in %.1f s", ended.errors, seconds)

    def is_out(self, place: str) -> bool:
        """Whether the latest report from the place was an outage."""
        outage = self._outage
        return outage is not None and place in outage.places

    def _back(self, place: str) -> _Outage | None:
        """Takes a place off the outage; returns the outage when that was the last one."""
        outage = self._outage
        if outage is None:
            return None
        outage.places.discard(place)
        if outage.places and self._now() - outage.latest < QUIET_AFTER:
            return None
        self._outage = None
        return outage

    def _line(self, place: str, text: str) -> str | None:
        now, begins = self._now(), self._outage is None
        outage = self._outage = self._outage or _Outage(since=now, reported=now, latest=now)
        outage.places.add(place)
        outage.latest = now
        outage.errors += 1
        if begins:
            return f"{place}: {text} (further errors are counted and summed up once a minute)"
        outage.suppressed += 1
        if now - outage.reported < SUMMARY_INTERVAL:
            return None
        line = f"Redis is still not available, {outage.suppressed} further errors, the latest: {place}: {text}"
        outage.reported, outage.suppressed = now, 0
        return line
