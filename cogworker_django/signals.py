"""Signals about jobs and workers (contract, section 9).

Those of a job have its class as ``sender`` (None where its code is not here), so that a receiver can be connected to
one job, and ``payload``; it is the job's, to be read and not to be changed. They are sent where the thing happens: the
first two by whoever pushes, the others in the worker, on the thread that runs the job. Errors of receivers are logged.
"""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

from cogworker_django import definition
from cogworker_django.core.events import Event

logger = logging.getLogger("cogworker")

job_enqueued = Signal()
"""A job is in Redis; of one that waits for a commit, after it."""
job_refused = Signal()
"""A unique job was not enqueued, since one like it waits or runs."""
job_started = Signal()
"""A job begins to run, in each attempt."""
job_succeeded = Signal()
"""A job has returned ``result``."""
job_failed = Signal()
"""An attempt of a job has raised ``error``."""
job_dead = Signal()
"""A job will not run again by itself, because of ``error``; its payload is that in Dead."""
worker_started = Signal()
"""A worker process begins to fetch jobs; ``identity`` is its name."""
worker_stopping = Signal()
"""A worker process fetches no more jobs; those that run may finish."""

_SIGNALS: dict[Event, Signal] = {
    Event.JOB_ENQUEUED: job_enqueued,
    Event.JOB_REFUSED: job_refused,
    Event.JOB_STARTED: job_started,
    Event.JOB_SUCCEEDED: job_succeeded,
    Event.JOB_FAILED: job_failed,
    Event.JOB_DEAD: job_dead,
    Event.WORKER_STARTED: worker_started,
    Event.WORKER_STOPPING: worker_stopping,
}


class Signals:
    """Tells by signals; see `core.events.Announcer`."""

    def wanted(self, event: Event) -> bool:
        """Whether a receiver is connected, be it to this job or to another one."""
        return bool(_SIGNALS[event].receivers)

    def tell(self, event: Event, **facts: Any) -> None:
        """Send the signal."""
        payload = facts.get("payload")
        sender = None if payload is None else definition.REGISTRY.get(payload["class"])
        try:
            _SIGNALS[event].send_robust(sender, **facts)
        except BaseException:
            # Exits and interrupts of a receiver, which Django lets pass.
            logger.exception("a receiver of %s ended", event)
