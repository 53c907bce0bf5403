"""Charts drawn by the server: the geometry of bars as text that no language changes (B130)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from cogworker_django.web.wording import count

WIDTH, HEIGHT = 720, 180  # units of the drawing
LEFT, TOP, BOTTOM = 44, 22, 24  # room for numbers, air and labels
LABELS = 8  # at most so many below the bars
STEPS = (1, 2, 5)
GAP = 0.25  # share of a bar's place that stays empty


@dataclass(frozen=True, slots=True)
class Point:
    """What one bar shows."""

    label: str
    """Below the bar."""
    full: str
    """In the table and where the pointer rests."""
    good: int
    bad: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, its two parts on top of each other."""

    x: str
    width: str
    good_y: str
    good_height: str
    bad_y: str
    bad_height: str
    hint: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A line of the grid, or a label below."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the template of a chart needs."""

    name: str
    """Begins the ids of its elements."""
    title: str
    note: str
    gist: str
    """What it shows, in one sentence."""
    good: str
    """What its two colours mean."""
    bad: str
    bars: list[Bar]
    grid: list[Mark]
    labels: list[Mark]
    points: list[Point]
    column: str
    """Heads the first column of the table."""
    width: str = str(WIDTH)
    height: str = str(HEIGHT)
    left: str = "0"
    base: str = str(HEIGHT - 6)


def bars(name: str, points: Sequence[Point], *, title: str, note: str, good: str, bad: str, column: str) -> Chart:
    """Lay out a chart of stacked bars.

    Args:
        name: begins the ids of its elements.
        points: from left to right; at least one.
        title: above it.
        note: beside the title.
        good: what the lower part of a bar means.
        bad: what the upper part means.
        column: heads the first column of the table.
    """
    top = ceiling(max((point.good + point.bad for point in points), default=0))
    place = (WIDTH - LEFT) / max(len(points), 1)
    every = -(-len(points) // LABELS)
    return Chart(
        name=name,
        title=title,
        note=note,
        gist=_gist(points, good, bad),
        good=good,
        bad=bad,
        bars=[_bar(point, LEFT + place * index, place, top, good, bad) for index, point in enumerate(points)],
        grid=[Mark(_unit(_y(value, top)), count(value)) for value in (0, top // 2, top)],
        labels=[
            Mark(_unit(LEFT + place * (index + 0.5)), point.label)
            for index, point in enumerate(points)
            if (len(points) - 1 - index) % every == 0
        ],
        points=list(points),
        column=column,
    )


def ceiling(number: int) -> int:
    """Return the end of the scale: the next of 2, 4, 10, 20, 40, 100… that is not below."""
    power = 1
    while True:
        for step in STEPS:
            if step * power * 2 >= number:
                return step * power * 2
        power *= 10


def _bar(point: Point, x: float, place: float, top: int, good: str, bad: str) -> Bar:
    lower, upper = _y(point.good, top), _y(point.good + point.bad, top)
    return Bar(
        x=_unit(x + place * GAP / 2),
        width=_unit(place * (1 - GAP)),
        good_y=_unit(lower),
        good_height=_unit(_y(0, top) - lower),
        bad_y=_unit(upper),
        bad_height=_unit(lower - upper),
        hint=f"{point.full}: {count(point.good)} {good}, {count(point.bad)} {bad}",
    )


def _y(value: int, top: int) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def _unit(number: float) -> str:
    return f"{number:.1f}"


def _gist(points: Sequence[Point], good: str, bad: str) -> str:
    done, failed = sum(point.good for point in points), sum(point.bad for point in points)
    if not done and not failed:
        return _("Nothing has run in this time.")
    peak = max(points, key=lambda point: point.good + point.bad)
    sentence = _("%(good_number)s %(good)s, %(bad_number)s %(bad)s; the most at %(peak)s.")
    return sentence % {
        "good_number": count(done),
        "good": good,
        "bad_number": count(failed),
        "bad": bad,
        "peak": peak.full,
    }
