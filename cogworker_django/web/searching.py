"""Searching jobs: within a budget, on what the reader may see, and on from where the search before has ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cogworker_django.api.browse import Place, Record, Spot, search
from cogworker_django.core.errors import RedisRefused
from cogworker_django.web.rows import JobRow

BUDGET = 10_000  # jobs that one answer looks at
WORDS = re.compile(r"[A-Za-z0-9_.@-]+")
UNFILTERED = 1_000  # jobs read at once when the server cannot choose among them


@dataclass(frozen=True, kw_only=True, slots=True)
class Hits:
    """What a search has found."""

    jobs: list[tuple[Place, Record]]
    looked: int
    """At how many jobs."""
    more: Place | None
    """Where to search on; None at the end."""


def needle(text: str) -> str:
    """Return the part of a text by which the server can choose: whatever contains the text contains this."""
    return max(WORDS.findall(text), key=len, default="")


def matches(text: str, row: JobRow) -> bool:
    """Tell whether a job is meant: class, jid, arguments or error, as the reader sees them, contain the text."""
    return text.casefold() in f"{row.klass} {row.jid} {row.args} {row.error_class}: {row.error_message}".casefold()


def look_through(
    places: Sequence[Place], begin: Place | None, word: str, fits: Callable[[Record], bool], number: int
) -> Hits:
    """Search sets and queues one after the other.

    Args:
        places: the first place of each.
        begin: where the search before has ended; None to begin anew.
        word: what the stored bytes of a job must contain.
        fits: whether a job is meant.
        number: of jobs wanted.
    """
    todo = _from(places, begin)
    found: list[tuple[Place, Record]] = []
    looked = 0
    while todo:
        place = todo[0]
        if len(found) >= number or looked >= BUDGET:
            return Hits(jobs=found, looked=looked, more=place)
        wanted = number - len(found) if word else min(UNFILTERED, BUDGET - looked)
        try:
            leaf = search(place, word, wanted, BUDGET - looked)
        except RedisRefused:
            # A damaged key holds no jobs; the others do.
            todo = todo[1:]
            continue
        looked += leaf.looked
        for where, job in leaf.jobs:
            if fits(job):
                found.append((where, job))
        todo = todo[1:] if leaf.more is None else [replace(place, spot=Spot(place=leaf.more)), *todo[1:]]
    return Hits(jobs=found, looked=looked, more=None)


def _from(places: Sequence[Place], begin: Place | None) -> list[Place]:
    if begin is None:
        return list(places)
    for index, place in enumerate(places):
        if (place.state, place.queue) == (begin.state, begin.queue):
            return [replace(begin, spot=Spot(place=begin.spot.place)), *places[index + 1 :]]
    return list(places)
