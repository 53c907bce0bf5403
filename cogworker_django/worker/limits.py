"""When a process is to be replaced: after so many jobs, or at so much memory."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

JITTER = 0.1
"""The part of a limit by which it is lowered at most, by chance: processes born together should not leave together."""


class Limits:
    """The limits of one process.

    Args:
        max_jobs: jobs; None for no limit.
        max_rss: MiB of memory; None for no limit.
        reached: called once when as many jobs have run.
        chance: gives a number from 0 to 1.
    """

    def __init__(
        self,
        max_jobs: int | None,
        max_rss: int | None,
        reached: Callable[[], None],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._jobs = None if max_jobs is None else max_jobs - int(max_jobs * JITTER * chance())
        self._rss_kb = None if max_rss is None else max_rss * 1024 * (1 - JITTER * chance())
        self._reached = reached
        # One step in C: threads count with it without a lock.
        self._count = itertools.count(1)
        self._full = False

    @property
    def counts(self) -> bool:
        """Whether jobs need to be counted."""
        return self._jobs is not None

    def count(self) -> None:
        """A job has run; from any thread."""
        if next(self._count) == self._jobs:
            self._full = True
            self._reached()

    def told(self, rss_kb: int | None) -> str:
        """Say which limit is reached.

        Args:
            rss_kb: the memory that the process takes, in KiB; None when that is not known.

        Returns:
            A few words; empty when none is.
        """
        if self._full:
            return f"it has run {self._jobs} jobs"
        if self._rss_kb is not None and rss_kb is not None and rss_kb >= self._rss_kb:
            return f"it takes {rss_kb // 1024} MiB of memory"
        return ""
