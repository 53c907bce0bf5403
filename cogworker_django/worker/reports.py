"""What running jobs report about themselves, until a trip takes it along (`Job.at`, `Job.store`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Container, Mapping, Sequence
from typing import Any

from cogworker_django.core.payload import Payload
from cogworker_django.core.state import State
from cogworker_django.store.status import Statuses
from cogworker_django.store.trips import Note
from cogworker_django.worker.gates import Alarm

PAUSE = 0.1
"""Seconds between two trips that are made for reports alone: a job may tell its progress at each of a million steps."""


class Report:
    """What one run tells about its job; called with the fields of one `at` or `store`, from any thread.

    Args:
        reports: takes it along.
        token: the delivery token of the job.
        payload: the job.
    """

    __slots__ = ("_reports", "closed", "fields", "jid", "name", "queue", "token")

    def __init__(self, reports: Reports, token: str, payload: Payload) -> None:
        self._reports = reports
        self.closed = False
        self.token = token
        self.name, self.jid, self.queue = payload["class"], payload["jid"], payload["queue"]
        self.fields: dict[str, Any] | None = None
        """What it has told so far; None when nothing was."""

    def __call__(self, fields: Mapping[str, Any]) -> None:
        """Tells something; after the end of the run nobody listens any more."""
        with self._reports.lock:
            if not self.closed:
                self.fields = {**(self.fields or {}), **fields}
                self._reports.fresh[self.token] = self
        self._reports.ring()

    def begin(self) -> None:
        """Tells that the job has been running for a while, unless it has told something itself."""
        if self.fields is None:
            self({})

    def close(self) -> dict[str, Any]:
        """The run has ended; what it has told."""
        if self.fields is None:
            self.closed = True
            return {}
        with self._reports.lock:
            self.closed = True
            self._reports.fresh.pop(self.token, None)
            return self.fields


class Reports:
    """The latest of each running job that Redis does not know yet.

    Args:
        statuses: builds the statuses, if they are kept.
        alarm: calls the keeper, which makes a trip for them.
    """

    def __init__(self, statuses: Statuses, alarm: Alarm) -> None:
        self.lock = threading.Lock()
        self.fresh: dict[str, Report] = {}
        """By token."""
        self._statuses = statuses
        self._alarm = alarm
        self._taken = 0.0

    def open(self, token: str, payload: Payload) -> Report | None:
        """What a run reports to; None when no statuses are kept."""
        return Report(self, token, payload) if self._statuses.ttl else None

    def ring(self) -> None:
        """Calls the keeper."""
        self._alarm.ring()

    @property
    def due_in(self) -> float | None:
        """Seconds until a trip is worth making for reports alone; None when nobody has reported."""
        return max(0.0, self._taken + PAUSE - time.monotonic()) if self.fresh else None

    def take(self, held: Container[str]) -> list[Report]:
        """The fresh ones for one trip, taken out.

        Args:
            held: the tokens of jobs that are this process's; reports of others are dropped.
        """
        if not self.fresh:
            return []
        self._taken = time.monotonic()
        with self.lock:
            fresh = [report for token, report in self.fresh.items() if token in held]
            self.fresh.clear()
        return fresh

    def put_back(self, reports: Sequence[Report]) -> None:
        """The trip failed: the next one takes them, unless their jobs have ended."""
        with self.lock:
            self.fresh.update((report.token, report) for report in reports if not report.closed)

    def notes(self, reports: Sequence[Report]) -> list[Note]:
        """As the trip takes them."""
        value, now = self._statuses.value, time.time()
        return [
            (each.token, each.jid, value(State.WORKING, each.name, each.queue, now, each.fields)) for each in reports
        ]
