"""The thread that puts scheduled jobs and retries on their queues when they are due (Reference 14)."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from cogworker_django.core.errors import CogworkerError
from cogworker_django.core.text import one_line, scrub
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.graduation import Graduation, Pass
from cogworker_django.store.jobsets import JobSets, SetName
from cogworker_django.worker.backoff import Backoff

logger = logging.getLogger("cogworker")

LONGEST = 5.0
"""Seconds between two looks when nothing is known to be due: what others schedule is found within it."""
RIVAL_PAUSE = (0.005, 0.020)
"""Seconds to step back for when another process moves the same entries: less than anybody notices."""
TRIM_EVERY = 60.0
"""Seconds between two looks for dead jobs that have passed their age."""
JOIN = 2.0
"""Seconds that a stop waits for a batch to end."""
SHOWN = 200
"""Characters of a damaged entry in the log (Reference 14)."""


class Outages(Protocol):
    """Where errors are reported; repeats are summed up there."""

    def failed(self, site: str, error: BaseException) -> None:
        """Report an error at a named place."""

    def succeeded(self, site: str) -> None:
        """Report that the place has really reached Redis."""


@dataclass(kw_only=True, slots=True)
class _Source:
    """One of the two sets, which fail and recover independently."""

    name: SetName
    backoff: Backoff = field(default_factory=Backoff)
    rests_until: float = -math.inf
    """On the monotonic clock."""


class Scheduler:
    """Sleeps until the earliest due time that it knows of, five seconds at most, and moves what is due.

    Redis's clock decides what is due, in the script; the process's idea of it only decides when to look.

    Args:
        jobsets: the sets.
        clock: Redis's time as the process knows it.
        outages: where errors are reported.
        quiet: whether the process takes no more work.
    """

    def __init__(self, jobsets: JobSets, clock: RedisClock, outages: Outages, *, quiet: Callable[[], bool]) -> None:
        self._jobsets = jobsets
        self._graduation = Graduation(jobsets)
        self._clock = clock
        self._outages = outages
        self._quiet = quiet
        self._sources = (_Source(name=SetName.SCHEDULE), _Source(name=SetName.RETRY))
        self._backoff = Backoff()
        self.awaited = math.inf
        """Until when it sleeps, epoch seconds on Redis's clock: what is due later is no news."""
        self._trim_at = -math.inf
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="cogworker-scheduler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; a batch that is being moved is finished, two seconds at most are waited for."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(JOIN)

    def hint(self, due: float) -> None:
        """Tell when the earliest entry is due. Cheap: only a time before all that are known wakes the thread.

        Args:
            due: epoch seconds on Redis's clock.
        """
        if due < self.awaited:
            self.awaited = due
            self._wake.set()

    def ring(self) -> None:
        """Tell that a new earliest entry was scheduled, or that the process is no longer quiet."""
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            # Cleared before the look: what is told during it leads to another look, not to nothing.
            self._wake.clear()
            self._wake.wait(self._guarded_round())

    def _guarded_round(self) -> float:
        try:
            return self._round()
        except Exception as error:  # noqa: BLE001 - whatever it is, due jobs must go on moving
            self._outages.failed("scheduler", error)
            self._stopping.wait(self._backoff.failed())
            return 0.0

    def _round(self) -> float:
        """Look once and move what is due; return the seconds until the next look."""
        if self._quiet():
            self.awaited = -math.inf
            return LONGEST
        self.awaited = math.inf
        firsts = self._jobsets.earliest()
        self._trim_dead()
        self._backoff.succeeded()
        self._outages.succeeded("scheduler")
        waits = [self._serve(source, first) for source, first in zip(self._sources, firsts, strict=True)]
        return min(LONGEST, *waits)

    def _serve(self, source: _Source, first: float | None) -> float:
        """Move what is due in one set; return the seconds until it is worth another look."""
        if first is None:
            return LONGEST
        wait = max(self._clock.until(first), source.rests_until - time.monotonic())
        if wait > 0:
            self.awaited = min(self.awaited, first)
            return wait
        site = f"scheduler, {source.name}"
        try:
            self._move_due(source.name)
        except CogworkerError as error:
            self._outages.failed(site, error)
            source.rests_until = time.monotonic() + source.backoff.failed()
            return 0.0
        source.backoff.succeeded()
        self._outages.succeeded(site)
        return 0.0

    def _move_due(self, name: SetName) -> None:
        while not (self._stopping.is_set() or self._quiet()):
            result = self._graduation.due(name)
            self._clock.tell(result.now)
            if not result.found:
                return
            _report(name, result)
            if result.gone > result.found // 2:
                self._stopping.wait(random.uniform(*RIVAL_PAUSE))

    def _trim_dead(self) -> None:
        """Delete dead jobs past their age: filing trims too, but nothing may ever be filed again."""
        if time.monotonic() < self._trim_at:
            return
        self._trim_at = time.monotonic() + min(TRIM_EVERY, self._jobsets.dead_max_age)
        while self._jobsets.trim_dead() and not self._stopping.is_set():
            pass


def _report(name: SetName, result: Pass) -> None:
    logger.debug("scheduler: %d of %d due jobs moved from %s", result.moved, result.found, name)
    for raw in result.buried:
        shown = one_line(scrub(raw, SHOWN + 1), SHOWN)
        logger.error("scheduler: an entry of %s is no job and was moved to dead: %s", name, shown)
    for error in result.postponed:
        text = one_line(error, SHOWN)
        logger.error("scheduler: a due job of %s could not be put on its queue and waits a minute: %s", name, text)
