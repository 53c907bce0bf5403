"""Finding a job by its id, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from cogworker_django.api.door import opened
from cogworker_django.core import payload as payloads
from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.core.payload import Payload
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.store import Store


class Place(StrEnum):
    """Where a job can be."""

    SCHEDULED = "scheduled"
    QUEUED = "queued"
    IN_PROGRESS = "in progress"
    """Fetched by a process: it runs, or is about to."""
    RETRY = "retry"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """A job and where it was found."""

    place: Place
    payload: Payload
    host: str | None = None
    """The identity of the process that holds it; None when none does."""
    run_at: float | None = None
    """Epoch seconds since when it runs; None when that is not known."""


def find_job(jid: str, store: Store | None = None) -> Whereabouts | None:
    """Search for a job everywhere, in short steps. With a million jobs about, that takes seconds.

    Args:
        jid: the job's id.
        store: where to look; by default the current runtime's.

    Returns:
        Where it was found, looking in the order in which jobs move on, so that one that moves meanwhile is met
        nevertheless; None when it is nowhere.

    Raises:
        RedisUnavailable: Redis is away.
    """
    search = _Search(jid, opened(store))
    steps: list[Callable[[], Whereabouts | None]] = [
        search.in_progress,
        lambda: search.in_set(SetName.SCHEDULE, Place.SCHEDULED),
        lambda: search.in_set(SetName.RETRY, Place.RETRY),
        search.in_queues,
        # It may have been fetched since the first look, and have failed since the second.
        search.in_progress,
        lambda: search.in_set(SetName.RETRY, Place.RETRY),
        lambda: search.in_set(SetName.DEAD, Place.DEAD),
    ]
    for step in steps:
        # What is damaged hides nothing but itself.
        with suppress(RedisRefused):
            found = step()
            if found is not None:
                return found
    return None


class _Search:
    """One search.

    Args:
        jid: the job's id.
        store: where to look.
    """

    def __init__(self, jid: str, store: Store) -> None:
        self._jid = jid
        self._store = store

    def in_progress(self) -> Whereabouts | None:
        """Look at what processes hold, and since when they run it."""
        reader = self._store.process_reader
        likely, since = reader.runner(self._jid) or (None, None)
        # What is told may be over by now: what is held is what counts.
        held = reader.holder(self._jid, likely)
        if held is None:
            return None
        identity, raw = held
        return self._found(Place.IN_PROGRESS, raw, identity, since if identity == likely else None)

    def in_set(self, name: SetName, place: Place) -> Whereabouts | None:
        """Look into a set."""
        entry = self._store.jobsets.find(name, self._jid)
        return None if entry is None else self._found(place, entry.member)

    def in_queues(self) -> Whereabouts | None:
        """Look into all queues."""
        reader = self._store.queue_reader
        for name in reader.names():
            raw = reader.find(name, self._jid)
            if raw is not None:
                return self._found(Place.QUEUED, raw)
        return None

    @staticmethod
    def _found(place: Place, raw: bytes, host: str | None = None, run_at: float | None = None) -> Whereabouts | None:
        try:
            return Whereabouts(place=place, payload=payloads.read(raw), host=host, run_at=run_at)
        except UnreadablePayload:
            return None
