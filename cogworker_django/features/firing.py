"""From a slot of a periodic entry to a job on its queue (reference, 15.3 and 15.4)."""

from __future__ import annotations

import logging

from cogworker_django.client import JobClient
from cogworker_django.core.dispatch import Push
from cogworker_django.core.entry import Entry
from cogworker_django.core.events import SILENCE, Announcer, Event
from cogworker_django.core.payload import PERIODIC_NAME, PERIODIC_SLOT
from cogworker_django.features.announcing import announce
from cogworker_django.store.periodic import Fired, PeriodicStore

logger = logging.getLogger("cogworker")


class Firing:
    """Fires slots.

    Args:
        periodic: the slots.
        client: makes the jobs, client middleware included.
        announcer: is told of each.
    """

    def __init__(self, periodic: PeriodicStore, client: JobClient, announcer: Announcer = SILENCE) -> None:
        self._announcer = announcer
        self._periodic = periodic
        self._client = client

    def fire(self, entry: Entry, slot: int) -> Fired:
        """Push the job of a slot, unless somebody else has.

        Args:
            entry: the entry.
            slot: epoch seconds.

        Raises:
            RedisUnavailable: Redis is away; the slot is to be tried again.
            RedisRefused: the job could not be pushed; the slot is still to be fired.
            Exception: what client middleware raises; the slot is still to be fired.
        """
        push = self._client.prepare(
            {
                "class": entry.job,
                "args": list(entry.args),
                "kwargs": dict(entry.kwargs),
                **entry.options,
            },
            {PERIODIC_NAME: entry.name, PERIODIC_SLOT: slot},
        )
        if push is None:
            # Middleware has refused it: this slot is done with.
            return Fired.FIRED if self._periodic.skip(entry.name, slot) else Fired.TAKEN
        if push.delay is not None or push.at is not None:
            return self._later(entry, slot, push)
        fired = self._periodic.fire(entry.name, slot, push)
        if fired is Fired.FIRED:
            announce(self._announcer, Event.JOB_ENQUEUED, push)
        return fired

    def _later(self, entry: Entry, slot: int, push: Push) -> Fired:
        """Middleware has given the job a due time: it goes to the schedule, after the slot was claimed."""
        if not self._periodic.skip(entry.name, slot):
            return Fired.TAKEN
        if self._client.dispatch(push) is None:
            logger.warning("the job of entry %s was refused: one like it waits or runs", entry.name)
        return Fired.FIRED
