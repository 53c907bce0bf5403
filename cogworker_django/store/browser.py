"""Pages of jobs for people: short, from where they were before, whatever has moved meanwhile; each one round trip.

Nothing here walks a list or set to its end. A place is a rank in a set, and in a queue the number of jobs before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any

from cogworker_django.core.lanes import BANDS
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.jobset_reader import BYTES_AT_ONCE, SetName, entries

MARK = 12
"""Characters of a job's SHA-1 that name it beside its place; the same in both scripts."""
LOOK = 2_000
"""Jobs that one call looks at: a few milliseconds of the server's time."""
NEWEST_FIRST = frozenset({SetName.DEAD})


class Mode(StrEnum):
    """Which part is wanted, seen from a job that is known."""

    AFTER = "after"
    BEFORE = "before"
    AT = "at"


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """Names one job where it was last seen."""

    place: int
    mark: str = ""
    """The beginning of its SHA-1; empty for a place without a job."""
    score: float = 0.0
    """In a set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One job of a page."""

    raw: bytes
    spot: Spot


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """A page."""

    jobs: list[Seen]
    size: int
    """Of the whole set or queue."""
    more: int | None
    """The place to go on from; None at the end."""
    met: bool
    """Whether the job that the page begins with was still there."""


def mark_of(raw: bytes) -> str:
    """Return what names a job beside its place."""
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()[:MARK]


class Browser:
    """Reads the pages.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        keys = gateway.keys
        self._sets = {SetName.SCHEDULE: keys.schedule, SetName.RETRY: keys.retry, SetName.DEAD: keys.dead}

    def of_set(self, name: SetName, spot: Spot, mode: Mode, *, number: int, text: str = "", look: int = LOOK) -> Slice:
        """Read a page of a set: dead jobs the newest first, the others the earliest first.

        Args:
            name: the set.
            spot: where to begin.
            mode: which way.
            number: of jobs.
            text: only jobs whose bytes contain it, capital or not.
            look: at most at so many.
        """
        order = "down" if name in NEWEST_FIRST else "up"
        score = repr(spot.score) if spot.mark else ""
        args = (order, mode, spot.place, score, spot.mark, number, look, BYTES_AT_ONCE, text.lower())
        size, more, met, *rest = self._gateway.run("browse_set", (self._sets[name],), args)
        jobs = [
            _seen(place, raw, float(score)) for place, raw, score in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        ]
        return _slice(size, more, met, jobs)

    def of_queue(self, name: str, spot: Spot, mode: Mode, *, number: int, text: str = "", look: int = LOOK) -> Slice:
        """Read a page of a queue, the next job to run first; otherwise as `of_set`."""
        return self._of_list(self._gateway.keys.lanes(name), "right", spot, mode, number, look, text)

    def of_history(
        self,
        status: str,
        spot: Spot,
        mode: Mode,
        *,
        number: int,
        text: str = "",
        look: int = LOOK,
        oldest: bool = False,
    ) -> Slice:
        """Read a page of the history, the newest run first; otherwise as `of_set`.

        Args:
            status: which list: `"all"`, `"success"` or `"failed"`.
            spot: where to begin.
            mode: which way.
            number: of runs.
            text: only runs whose bytes contain it, capital or not.
            look: at most at so many.
            oldest: begin with the oldest run instead.
        """
        side = "right" if oldest else "left"
        return self._of_list([self._gateway.keys.history(status)], side, spot, mode, number, look, text)

    def run(self, finished_at: float, mark: str) -> bytes | None:
        """Find a run of the history by the time of its end, in one short call; None when it is not there any more.

        Args:
            finished_at: as it stands there, epoch seconds.
            mark: the beginning of its SHA-1.
        """
        raw: bytes | None = self._gateway.run("find_run", (self._gateway.keys.history("all"),), (finished_at, mark))
        return raw

    def tops(self, number: int, queues: Sequence[str]) -> tuple[dict[SetName, list[Seen]], dict[str, list[Seen]]]:
        """Read the first jobs of each set and of some queues, in one round trip; what is damaged has none.

        Args:
            number: of jobs of each.
            queues: names of the queues.
        """
        commands: list[replies.Command] = []
        for name, key in self._sets.items():
            commands.append(("ZREVRANGE" if name in NEWEST_FIRST else "ZRANGE", key, 0, number - 1, "WITHSCORES"))
        keys = [key for name in queues for key in self._gateway.keys.lanes(name)]
        commands += (("LRANGE", key, -number, -1) for key in keys)
        found = replies.each(self._gateway, commands)
        sets = {
            name: [_seen(place, *entry) for place, entry in enumerate(entries(replies.or_else(reply, ())))]
            for name, reply in zip(self._sets, found, strict=False)
        }
        tails = [list(reversed(replies.or_else(reply, ()))) for reply in found[len(self._sets) :]]
        lists: dict[str, list[Seen]] = {}
        for queue, first in zip(queues, range(0, len(tails), len(BANDS)), strict=True):
            following = list(chain.from_iterable(tails[first : first + len(BANDS)]))[:number]
            lists[queue] = [_seen(place, raw, 0.0) for place, raw in enumerate(following)]
        return sets, lists

    def _of_list(
        self, keys: Sequence[str], side: str, spot: Spot, mode: Mode, number: int, look: int, text: str
    ) -> Slice:
        args = (mode, spot.place, spot.mark, number, look, BYTES_AT_ONCE, text.lower(), side)
        size, more, met, *rest = self._gateway.run("browse_list", keys, args)
        jobs = [_seen(place, raw, 0.0) for place, raw in zip(rest[::2], rest[1::2], strict=True)]
        return _slice(size, more, met, jobs)


def _seen(place: Any, raw: bytes, score: float) -> Seen:
    return Seen(raw=raw, spot=Spot(place=int(place), mark=mark_of(raw), score=score))


def _slice(size: Any, more: Any, met: Any, jobs: list[Seen]) -> Slice:
    return Slice(jobs=jobs, size=int(size), more=None if int(more) < 0 else int(more), met=bool(met))
