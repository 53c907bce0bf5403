"""How one worker process is, as it tells others of its machine."""

from __future__ import annotations

from enum import StrEnum

import msgspec

STALE = 60.0
"""Seconds without a sign of a thread after which a process counts as stuck: a job may hold the interpreter so long."""
OUT_OF_TOUCH = 15.0
"""Seconds without an answer of Redis after which a process is not ready: it is asked every second or every beat."""


class Phase(StrEnum):
    """Where a process stands in its life."""

    BOOTING = "booting"
    """It has not beaten yet."""
    WORKING = "working"
    QUIET = "quiet"
    """It fetches no jobs."""
    STOPPING = "stopping"


class Condition(msgspec.Struct, frozen=True, kw_only=True, tag="condition", omit_defaults=True):
    """How a process is at one moment."""

    pid: int
    phase: Phase = Phase.BOOTING
    identity: str = ""
    """Its name in Redis; empty before its first beat."""
    concurrency: int = 0
    """Threads that run jobs."""
    busy: int = 0
    """How many of them do."""
    processed: int = 0
    """Jobs that it has run since its start."""
    failed: int = 0
    """How many of them failed."""
    rss_kb: int | None = None
    """Memory, in KiB."""
    silent: float = 0.0
    """Seconds since the thread that is silent for longest gave a sign."""
    untouched: float = 0.0
    """Seconds since Redis has last answered in the way that matters now: a fetch, or a beat while all threads run."""

    @property
    def stuck(self) -> bool:
        """Whether a thread that should tick does not."""
        return self.silent > STALE

    @property
    def unready(self) -> str:
        """Why it takes no jobs; empty when it does."""
        if self.phase != Phase.WORKING:
            return str(self.phase)
        if self.untouched > OUT_OF_TOUCH:
            return f"Redis has not answered for {self.untouched:.0f} s"
        return "stuck" if self.stuck else ""
