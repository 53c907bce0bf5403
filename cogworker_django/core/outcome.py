"""What a run came to, and what is to become of the job: values, written nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The job returned."""

    result: object
    """What it returned."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The job, its lookup or a middleware raised."""

    error: BaseException
    """What it raised: any exception, exits included."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The process ends, and the job was cancelled for that: it runs again elsewhere."""


Outcome = Succeeded | Failed | Interrupted


class Fate(StrEnum):
    """Where a failed job goes. The values are the outcomes in the attempts log (Reference 12.4)."""

    RETRY = "retrying"
    """Runs again after a delay."""
    DEAD = "dead"
    """Out of retries: kept in Dead."""
    KILLED = "killed"
    """Its retry hook sent it to Dead."""
    DISCARDED = "discarded"
    """Its retry hook dropped it: kept nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision about a failed job (Reference 12.2)."""

    fate: Fate
    """Where it goes."""
    delay: float | None = None
    """Seconds until it runs again; None unless it is retried."""
    warning: str | None = None
    """What was odd about the hook's answer, for the log."""
