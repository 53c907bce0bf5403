"""Putting new jobs on their queues and on the schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol

from cogworker_django.store.gateway import Arg, Gateway

# Jobs in one script call: far below what Lua can unpack, and no call holds the server up.
BATCH = 1000
# Bytes after which a call takes no further job: a server closes a connection that sends it 1 GB at once.
BATCH_BYTES = 16 * 1024 * 1024


class NewJob(Protocol):
    """What a push needs to know of a job."""

    @property
    def payload(self) -> dict[str, Any]:
        """The job."""

    @property
    def raw(self) -> bytes:
        """Its bytes, which are its identity from now on."""

    @property
    def delay(self) -> float | None:
        """Seconds until it is due, on Redis's clock."""

    @property
    def at(self) -> float | None:
        """Epoch seconds when it is due; None, and no delay: now."""


class Queues:
    """Pushes jobs, each batch in one atomic step (contract, section 2)."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def push(self, jobs: Sequence[NewJob]) -> None:
        """Puts jobs where they belong, in their order: one script call for each 1,000 neighbours of one queue.

        Raises:
            RedisUnavailable: Redis is away; whether the last batch was written is unknown.
            RedisRefused: it refused, and nothing of that batch was written.
        """
        for target, group in groupby(jobs, _target):
            for batch in _batches(group):
                if target is None:
                    self._schedule(batch)
                else:
                    self._push(target, batch)

    def _push(self, queue: str, batch: Sequence[NewJob]) -> None:
        keys = self._gateway.keys
        args: list[Arg] = [queue]
        args.extend(job.raw for job in batch)
        self._gateway.run("push", (keys.queue(queue), keys.bell(queue), keys.queues), args)

    def _schedule(self, batch: Sequence[NewJob]) -> None:
        keys = self._gateway.keys
        args: list[Arg] = []
        for job in batch:
            args += ("at", repr(job.at)) if job.delay is None else ("in", repr(job.delay))
            args.append(job.raw)
        self._gateway.run("schedule", (keys.schedule, keys.schedule_bell), args)


def _target(job: NewJob) -> str | None:
    """The queue, or None for the schedule."""
    return job.payload["queue"] if job.at is None and job.delay is None else None


def _batches(jobs: Iterable[NewJob]) -> Iterator[list[NewJob]]:
    batch: list[NewJob] = []
    size = 0
    for job in jobs:
        batch.append(job)
        size += len(job.raw)
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
