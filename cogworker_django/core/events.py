"""What happens to jobs and workers that others may want to be told of (Contract 9)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol


class Event(StrEnum):
    """What happens; the values are the names of the signals."""

    JOB_ENQUEUED = "job_enqueued"
    JOB_REFUSED = "job_refused"
    JOB_STARTED = "job_started"
    JOB_SUCCEEDED = "job_succeeded"
    JOB_FAILED = "job_failed"
    JOB_DEAD = "job_dead"
    WORKER_STARTED = "worker_started"
    WORKER_STOPPING = "worker_stopping"


class Announcer(Protocol):
    """Tells whoever wants to know."""

    def wanted(self, event: Event) -> bool:
        """Whether anybody wants to be told: asked before every telling, so that nobody costs nothing."""
        ...

    def tell(self, event: Event, **facts: Any) -> None:
        """Tell; whatever goes wrong with that changes nothing about the job.

        Args:
            event: what happens.
            facts: of a job ``payload``, and ``result`` or ``error``; of a worker ``identity``.
        """
        ...


class Silence:
    """Nobody wants to know: where there is no Django."""

    def wanted(self, event: Event) -> bool:
        """False."""
        return False

    def tell(self, event: Event, **facts: Any) -> None:
        """Do nothing."""


SILENCE = Silence()
