"""Pages of jobs as a reader turns them, and the names by which a form tells which job is meant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from cogworker_django.api.door import opened
from cogworker_django.api.jobsets import SetEntry
from cogworker_django.api.queue import QueuedJob
from cogworker_django.core.names import check_queue
from cogworker_django.store.browser import LOOK, Mode, Seen, Slice, Spot
from cogworker_django.store.jobsets import Entry, SetName
from cogworker_django.store.store import Store

__all__ = ["LOOK", "Leaf", "Mode", "Place", "Record", "Spot", "State", "find", "search", "tops", "turn"]

SEPARATOR = "~"
Record = SetEntry | QueuedJob


class State(StrEnum):
    """Where a waiting job lies."""

    ENQUEUED = "enqueued"
    SCHEDULED = "scheduled"
    RETRYING = "retrying"
    DEAD = "dead"


SETS = {State.SCHEDULED: SetName.SCHEDULE, State.RETRYING: SetName.RETRY, State.DEAD: SetName.DEAD}


START = Spot(place=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a job was seen: enough to find it again, and to tell when it is no longer there."""

    state: State
    queue: str = ""
    """Of an enqueued one."""
    spot: Spot = START

    def __str__(self) -> str:
        spot = self.spot
        return SEPARATOR.join((self.state, str(spot.place), repr(spot.score), spot.mark, self.queue))

    @classmethod
    def read(cls, text: str) -> Place:
        """Read what `str` has written.

        Raises:
            ValueError: it is something else.
        """
        parts = text.split(SEPARATOR, 4)
        if len(parts) != 5:
            raise ValueError(f"{text!r} names no job")
        state, place, score, mark, queue = parts
        if not place.isdigit() or len(place) > 15 or math.isnan(float(score)):
            raise ValueError(f"{text!r} names no job")
        where = State(state)
        queue = check_queue(queue) if where is State.ENQUEUED else ""
        return cls(state=where, queue=queue, spot=Spot(place=int(place), score=float(score), mark=mark))


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """One page."""

    jobs: list[tuple[Place, Record]]
    size: int
    """Of the whole set or queue."""
    more: int | None
    """The place to go on from; None at the end."""
    met: bool
    """Whether the job that the page goes on from was still there."""
    looked: int = 0
    """How many were looked at, in a search."""


def turn(place: Place, mode: Mode, number: int, store: Store | None = None) -> Leaf:
    """Read a page: a round trip.

    Args:
        place: from which job on, or from which rank when it names none.
        mode: which way.
        number: of jobs.
        store: where to look; by default the current runtime's.
    """
    store = opened(store)
    return _leaf(place, _read(store, place, mode, number, "", LOOK), store)


def search(place: Place, text: str, number: int, budget: int, store: Store | None = None) -> Leaf:
    """Search on from a place, in steps of a few milliseconds of the server's time each.

    Args:
        place: where to begin.
        text: what the stored bytes must contain.
        number: of jobs wanted.
        budget: at most so many are looked at.
        store: where to look; by default the current runtime's.

    Returns:
        What was found; `more` tells where to search on.
    """
    store, found, looked = opened(store), list[tuple[Place, Record]](), 0
    start = place.spot.place
    while True:
        step = min(LOOK, budget - looked)
        leaf = _leaf(place, _read(store, place, Mode.AFTER, number - len(found), text, step), store)
        found += leaf.jobs
        reached = leaf.size if leaf.more is None else leaf.more
        looked = max(0, reached - start)
        if leaf.more is None or len(found) >= number or looked >= budget:
            return replace(leaf, jobs=found, looked=looked)
        place = replace(place, spot=Spot(place=leaf.more))


def tops(
    number: int, queues: Sequence[str], store: Store | None = None
) -> list[tuple[State, str, list[tuple[Place, Record]]]]:
    """Read the first jobs of some queues and of each set, in one round trip.

    Args:
        number: of jobs of each.
        queues: names of the queues.
        store: where to look; by default the current runtime's.

    Returns:
        The state, the queue of enqueued ones, and the jobs.
    """
    store = opened(store)
    sets, lists = store.browser.tops(number, queues)
    places = [Place(state=State.ENQUEUED, queue=queue) for queue in lists] + [Place(state=state) for state in SETS]
    found = [*lists.values(), *(sets[name] for name in SETS.values())]
    return [
        (place.state, place.queue, list(_records(place, jobs, store)))
        for place, jobs in zip(places, found, strict=True)
    ]


def find(place: Place, store: Store | None = None) -> Record | None:
    """Return the job that was seen at a place; None when it is no longer there."""
    store = opened(store)
    if not place.spot.mark:
        return None
    jobs = _leaf(place, _read(store, place, Mode.AT, 1, "", 1), store).jobs
    return jobs[0][1] if jobs else None


def _read(store: Store, place: Place, mode: Mode, number: int, text: str, look: int) -> Slice:
    if place.state is State.ENQUEUED:
        return store.browser.of_queue(place.queue, place.spot, mode, number=number, text=text, look=look)
    return store.browser.of_set(SETS[place.state], place.spot, mode, number=number, text=text, look=look)


def _leaf(place: Place, seen: Slice, store: Store) -> Leaf:
    return Leaf(jobs=list(_records(place, seen.jobs, store)), size=seen.size, more=seen.more, met=seen.met)


def _records(place: Place, jobs: Iterable[Seen], store: Store) -> Iterable[tuple[Place, Record]]:
    for job in jobs:
        where = replace(place, spot=job.spot)
        if place.state is State.ENQUEUED:
            yield where, QueuedJob(job.raw, place.queue, store.queue_reader)
        else:
            yield where, SetEntry(Entry(job.raw, job.spot.score), SETS[place.state], store)
