"""Turning pages: the address carries the last job that was seen, so that a page goes on from there (Engine 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.translation import gettext as _

from cogworker_django.api.browse import Leaf, Mode, Place, Spot
from cogworker_django.web.links import Links
from cogworker_django.web.wording import count


@dataclass(frozen=True, kw_only=True, slots=True)
class Pager:
    """What stands below a table."""

    text: str
    previous: str
    """Address of the page before; empty on the first one."""
    following: str
    first: str
    moved: bool
    """Whether the job that the page should have gone on from is gone."""


def asked(request: HttpRequest, start: Place) -> tuple[Place, Mode]:
    """Read where a page begins; an address that makes no sense shows the first page.

    Args:
        request: with `after` or `before`, a job; or `start`, a number from 1.
        start: which set or queue.
    """
    for mode in (Mode.AFTER, Mode.BEFORE):
        text = request.GET.get(mode, "")
        if text:
            try:
                place = Place.read(text)
            except ValueError:
                continue
            if (place.state, place.queue) == (start.state, start.queue):
                return place, mode
    number = request.GET.get("start", "")
    if number.isdecimal() and len(number) <= 12:
        return replace(start, spot=Spot(place=max(0, int(number) - 1))), Mode.AFTER
    return start, Mode.AFTER


def pager(links: Links, leaf: Leaf, mode: Mode) -> Pager:
    """Lay out what stands below a table.

    Args:
        links: makes addresses of this page.
        leaf: what it shows.
        mode: which way it was turned.
    """
    first = links.here(after=None, before=None, start=None)
    turned = any(name in links.parameters for name in (Mode.AFTER, Mode.BEFORE, "start"))
    moved = turned and "start" not in links.parameters and not leaf.met
    if not leaf.jobs:
        return Pager(text=_("Nothing here."), previous="", following="", first=first if turned else "", moved=moved)
    begin, end = leaf.jobs[0][0], leaf.jobs[-1][0]
    text = _("%(first)s to %(last)s of %(size)s") % {
        "first": count(begin.spot.place + 1),
        "last": count(end.spot.place + 1),
        "size": count(leaf.size),
    }
    return Pager(
        text=text,
        previous=links.here(before=str(begin), after=None, start=None) if begin.spot.place > 0 else "",
        following=links.here(after=str(end), before=None, start=None) if leaf.more is not None else "",
        first=first if begin.spot.place > 0 else "",
        moved=moved,
    )
