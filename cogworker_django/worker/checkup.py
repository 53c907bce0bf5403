"""How this process is, read off its parts."""

from __future__ import annotations

import os
import time

from cogworker_django.process.condition import Condition, Phase
from cogworker_django.process.memory import resident_kb
from cogworker_django.worker.worker import Worker

GONE = 1e9
"""Seconds of silence of a thread that is not there any more."""


def condition_of(worker: Worker, phase: Phase) -> Condition:
    """Tell how a process is.

    Args:
        worker: what works in it.
        phase: where it stands in its life.
    """
    return Condition(
        pid=os.getpid(),
        phase=phase,
        identity=worker.identity,
        concurrency=len(worker.processors),
        busy=worker.work.busy,
        processed=sum(processor.processed for processor in worker.processors),
        failed=sum(processor.failed for processor in worker.processors),
        rss_kb=resident_kb(),
        silent=0.0 if phase == Phase.STOPPING else _silent(worker),
        untouched=_untouched(worker),
    )


def _silent(worker: Worker) -> float:
    """Seconds since the thread that should have given a sign by now, and has not, gave its last."""
    if not all(processor.thread.is_alive() for processor in worker.processors):
        return GONE
    now = time.monotonic()
    return max(0.0, now - worker.keeper.seen - worker.keeper.interval, now - worker.heartbeat.seen)


def _untouched(worker: Worker) -> float:
    """Seconds since Redis has answered: the fetch, as long as a thread waits for one, else the beat."""
    idle = worker.work.busy < len(worker.processors)
    return worker.exchange.vitals.since_fetch if idle else worker.heartbeat.unheard
