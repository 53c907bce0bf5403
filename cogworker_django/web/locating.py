"""Finding the job that a page is about: where it was seen, among what runs, or by a short search of each place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cogworker_django.api.browse import LOOK, Place, Record, State, find, search
from cogworker_django.api.jobsets import SetEntry
from cogworker_django.api.snapshot import Snapshot
from cogworker_django.core import times
from cogworker_django.core.errors import RedisRefused
from cogworker_django.web.jobs import RUNNING

QUEUES_SEARCHED = 5
OF_STATUS = {"queued": State.ENQUEUED, "working": RUNNING, "retrying": State.RETRYING, "failed": State.DEAD}


@dataclass(kw_only=True, slots=True)
class Where:
    """Where the job was found."""

    state: str = ""
    """Empty when it is in none of the places that were looked at."""
    place: Place | None = None
    item: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None
    identity: str = ""
    run_at: float | None = None
    complete: bool = True
    """Whether every place was looked at to its end."""


def locate(snapshot: Snapshot, jid: str, at: str) -> Where:
    """Find a job: where the link says, among what runs, or by a short search of each place.

    Args:
        snapshot: with what runs, and the job's status.
        jid: its id.
        at: where it was seen.
    """
    try:
        place = Place.read(at)
        job = find(place)
    except (ValueError, RedisRefused):
        job = None
    else:
        if job is not None and job.jid == jid:
            return _found(place, job)
    for identity, work in snapshot.work:
        item = work.get("payload")
        if isinstance(item, dict) and item.get("jid") == jid:
            return Where(state=RUNNING, item=item, identity=identity, run_at=times.told(work.get("run_at")))
    return _searched(snapshot, jid)


def _searched(snapshot: Snapshot, jid: str) -> Where:
    complete = True
    for place in _places(snapshot):
        try:
            leaf = search(place, jid, 5, LOOK)
        except RedisRefused:
            continue
        for where, job in leaf.jobs:
            if job.jid == jid:
                return _found(where, job)
        complete = complete and leaf.more is None
    return Where(complete=complete)


def _places(snapshot: Snapshot) -> list[Place]:
    """Where the job may be: what its status says comes first, and nothing else when it says that it has ended well."""
    told = snapshot.status.get("status")
    if told == "complete":
        return []
    filled, queue = [each.name for each in snapshot.queues if each.size], snapshot.status.get("queue")
    names = [queue] if queue in filled else filled[:QUEUES_SEARCHED]
    places = [Place(state=State.ENQUEUED, queue=name) for name in names]
    places += [Place(state=state) for state in (State.RETRYING, State.SCHEDULED, State.DEAD)]
    return sorted(places, key=lambda place: place.state != OF_STATUS.get(str(told)))


def _found(place: Place, job: Record) -> Where:
    score = job.score if isinstance(job, SetEntry) else None
    return Where(state=place.state, place=place, item=job.item, score=score)
