"""Putting new jobs on their queues and on the schedule."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol

from cogworker_django.core import django_task
from cogworker_django.core.lanes import lane_of, queue_of
from cogworker_django.core.state import State
from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.status import Statuses

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

    @property
    def digest(self) -> str | None:
        """Names the lock of a unique job."""


class Queues:
    """Pushes jobs, each batch in one atomic step with what goes with it (contract, section 2).

    Args:
        gateway: to Redis.
        statuses: builds the first status of each job, if they are kept.
        lock_ttl: seconds that the lock of a unique job lasts after its due time.
    """

    def __init__(self, gateway: Gateway, statuses: Statuses, *, lock_ttl: float) -> None:
        self._gateway = gateway
        self._statuses = statuses
        self._lock_ttl = lock_ttl

    def push(self, jobs: Sequence[NewJob]) -> set[int]:
        """Puts jobs where they belong, in their order: one script call for each 1,000 neighbours of one lane.

        Returns:
            The positions of those that were refused: unique, and another one like it waits or runs.

        Raises:
            RedisUnavailable: Redis is away; whether the last batch was written is unknown.
            RedisRefused: it refused, and nothing of that batch was written.
        """
        done, refused = 0, set[int]()
        for target, group in groupby(jobs, _target):
            for batch in _batches(group):
                positions = self._schedule(batch) if target is None else self._push(target, batch)
                refused.update(done + position for position in positions)
                done += len(batch)
        return refused

    def _push(self, lane: str, batch: Sequence[NewJob]) -> list[int]:
        keys, queue = self._gateway.keys, queue_of(lane)
        accompanied = self._statuses.ttl > 0 or any(job.digest for job in batch)
        args: list[Arg] = [queue, keys.prefix, self._lock_ttl, self._statuses.ttl, 4 if accompanied else 1]
        if accompanied:
            for job in batch:
                args += (job.raw, *self.company(job))
        else:
            args.extend(job.raw for job in batch)
        refused: list[int] = self._gateway.run("push", (keys.queue(lane), keys.bell(queue), keys.queues), args)
        return refused

    def _schedule(self, batch: Sequence[NewJob]) -> list[int]:
        keys = self._gateway.keys
        args: list[Arg] = [keys.prefix, self._lock_ttl, self._statuses.ttl]
        for job in batch:
            args += ("at", repr(job.at)) if job.delay is None else ("in", repr(job.delay))
            args += (job.raw, *self.company(job))
        refused: list[int] = self._gateway.run("schedule", (keys.schedule, keys.schedule_bell), args)
        return refused

    def company(self, job: NewJob) -> tuple[str, str, str]:
        """What goes with a job: its id, the digest of its lock and its status."""
        payload = job.payload
        if not self._statuses.ttl:
            return (payload["jid"] if job.digest else "", job.digest or "", "")
        told = django_task.told(payload)
        status = self._statuses.value(State.QUEUED, payload["class"], payload["queue"], time.time(), told)
        return (payload["jid"], job.digest or "", status)


def _target(job: NewJob) -> str | None:
    """The lane, or None for the schedule."""
    return lane_of(job.payload, job.payload["queue"]) if job.at is None and job.delay is None else None


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
