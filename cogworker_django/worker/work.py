"""What a process is running, as others may read it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.processor import Processor

LONG = 0.5
"""Seconds after which a running job is shown as working: most are done before anybody could look."""
LARGE = 16_384
"""Bytes of a job above which its arguments are not published: beats stay small whatever runs."""


class Work:
    """Looks at the processors.

    Args:
        processors: all of the process.
    """

    def __init__(self, processors: Sequence[Processor]) -> None:
        self._processors = processors

    @property
    def busy(self) -> int:
        """How many jobs are running."""
        return sum(processor.delivery is not None for processor in self._processors)

    def oldest(self) -> float:
        """For how many seconds the longest of them has been running; 0 when none runs."""
        since = [processor.since for processor in self._processors if processor.delivery is not None]
        return max(0.0, time.time() - min(since)) if since else 0.0

    def report_long(self) -> None:
        """Has the jobs that have been running for a while report that they do."""
        before = time.time() - LONG
        for processor in self._processors:
            report = processor.report
            if report is not None and processor.since < before:
                report.begin()

    def published(self) -> bytes | None:
        """The running jobs as JSON; None when there are none."""
        rows = []
        for processor in self._processors:
            delivery, since = processor.delivery, processor.since
            if delivery is not None:
                row: dict[str, Any] = {"thread": processor.name, "queue": delivery.queue, "run_at": since}
                rows.append(row | {"payload": _summary(delivery)})
        return codec.encode(rows) if rows else None


def _summary(delivery: Delivery) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    with contextlib.suppress(UnreadablePayload):
        payload = codec.decode(delivery.raw)
    if len(delivery.raw) > LARGE:
        payload = {name: value for name, value in payload.items() if name not in ("args", "kwargs")}
        payload |= {"args": [], "args_omitted": True}
    return payload
