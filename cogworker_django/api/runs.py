"""The history as a reader turns its pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cogworker_django.api.door import opened
from cogworker_django.core import codec, times
from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.store.browser import LOOK, Mode, Seen, Slice, Spot, mark_of
from cogworker_django.store.history import ALL, FAILED, SUCCESS
from cogworker_django.store.store import Store

__all__ = ["ALL", "FAILED", "LOOK", "SUCCESS", "Mode", "Run", "Runs", "find_run", "read_spot", "runs"]

SEPARATOR = "~"
NOTHING = Slice(jobs=[], size=0, more=None, met=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run."""

    item: dict[str, Any]
    """Its entry, as `History.page` gives it."""
    spot: str
    """Names it for the next page."""
    id: str
    """Names it for its own page, as long as the history keeps it."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None when that cannot be read."""
        began, ended = (times.told(self.item.get(name)) for name in ("started_at", "finished_at"))
        return None if began is None or ended is None else max(0.0, ended - began)


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """One page."""

    runs: list[Run]
    size: int
    """Of the whole list."""
    first: int
    """The place of the first run, from 0."""
    more: int | None
    """The place to go on from; None at the end."""
    met: bool
    """Whether the run that the page goes on from was still there."""
    looked: int
    """How many were looked at, in a search."""


def read_spot(text: str) -> Spot:
    """Read what `Run.spot` says.

    Raises:
        ValueError: it is something else.
    """
    place, _bar, mark = text.partition(SEPARATOR)
    if not place.isdigit() or len(place) > 15:
        raise ValueError(f"{text!r} names no run")
    return Spot(place=int(place), mark=mark)


def runs(
    status: str,
    spot: Spot,
    mode: Mode,
    number: int,
    *,
    text: str = "",
    look: int = LOOK,
    oldest: bool = False,
    store: Store | None = None,
) -> Runs:
    """Read a page of runs in one round trip, or search on from a place for one more step.

    Args:
        status: `ALL`, `SUCCESS` or `FAILED`.
        spot: where to begin.
        mode: which way.
        number: of runs.
        text: only runs whose entries contain it, capital or not.
        look: at most at so many.
        oldest: begin with the oldest run instead of the newest.
        store: where to look; by default the current runtime's.
    """
    browser = opened(store).browser
    try:
        page = browser.of_history(status, spot, mode, number=number, text=text, look=look, oldest=oldest)
    except RedisRefused:
        page = NOTHING
    reached = page.size if page.more is None else page.more
    return Runs(
        runs=[run for run in map(_run, page.jobs) if run is not None],
        size=page.size,
        first=page.jobs[0].spot.place if page.jobs else 0,
        more=page.more,
        met=page.met,
        looked=max(0, reached - spot.place),
    )


def find_run(name: str, store: Store | None = None) -> Run | None:
    """Return a run by `Run.id`; None when the history no longer has it.

    Args:
        name: the id.
        store: where to look; by default the current runtime's.
    """
    ended, _bar, mark = name.partition(SEPARATOR)
    try:
        at = float(ended)
    except ValueError:
        return None
    if not math.isfinite(at):
        return None
    raw = opened(store).browser.run(at, mark)
    return None if raw is None else _run(Seen(raw=raw, spot=Spot(place=0, mark=mark_of(raw))))


def _run(seen: Seen) -> Run | None:
    try:
        item = codec.decode(seen.raw)
    except UnreadablePayload:
        return None
    ended, spot = times.told(item.get("finished_at")) or 0.0, seen.spot
    return Run(item=item, spot=f"{spot.place}{SEPARATOR}{spot.mark}", id=f"{ended!r}{SEPARATOR}{spot.mark}")
