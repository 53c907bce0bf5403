"""The times of cron entries against two others: every minute looked at by brute force, and cronsim."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from cogworker_django.core.cron import Cron
from tests.scenarios.scale import size

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(120, 3600))]

ZONES = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Tehran",
    "Africa/Cairo",
    "Pacific/Chatham",
)
PLAIN_ZONES = ("UTC", "Europe/Berlin", "Europe/London", "America/New_York", "Australia/Sydney")
TRIPLES = size(1_500, 200_000)
NEXT = 3
WINDOW = 3 * 1440
"""Minutes that brute force looks at."""


class Field:
    """A field of an expression, and what it means."""

    def __init__(self, chance: random.Random, lowest: int, highest: int) -> None:
        numbers = range(lowest, highest + 1)
        kind = chance.choice(["*", "*/n", "list", "list", "a-b", "a-b/n", "a/n"])
        first, last = sorted(chance.sample(numbers, 2))
        step = chance.randint(1, max(2, (highest - lowest) // 3))
        self.text = {
            "*": "*",
            "*/n": f"*/{step}",
            "a-b": f"{first}-{last}",
            "a-b/n": f"{first}-{last}/{step}",
            "a/n": f"{first}/{step}",
        }.get(kind, "")
        meant = {
            "*": numbers,
            "*/n": range(lowest, highest + 1, step),
            "a-b": range(first, last + 1),
            "a-b/n": range(first, last + 1, step),
            "a/n": range(first, highest + 1, step),
        }
        if kind == "list":
            chosen = chance.sample(numbers, chance.randint(1, 3))
            self.text, self.numbers = ",".join(map(str, chosen)), set(chosen)
        else:
            self.numbers = set(meant[kind])
        self.starred = self.text.startswith("*")


class Expression:
    """Five of them."""

    def __init__(self, chance: random.Random) -> None:
        self.minute, self.hour = Field(chance, 0, 59), Field(chance, 0, 23)
        self.day, self.month, self.weekday = Field(chance, 1, 31), Field(chance, 1, 12), Field(chance, 0, 6)
        if chance.random() < 0.7:
            # Else hardly any matches within the days around a change of clocks.
            self.month.text, self.month.numbers = "*", set(range(1, 13))
            self.day.text, self.day.numbers, self.day.starred = "*", set(range(1, 32)), True
        fields = (self.minute, self.hour, self.day, self.month, self.weekday)
        self.text = " ".join(field.text for field in fields)
        self.fixed = not (self.minute.starred or self.hour.starred)

    def matches(self, local: datetime) -> bool:
        day = local.day in self.day.numbers
        weekday = local.isoweekday() % 7 in self.weekday.numbers
        right = day and weekday if self.day.starred or self.weekday.starred else day or weekday
        times = local.minute in self.minute.numbers and local.hour in self.hour.numbers
        return times and right and local.month in self.month.numbers


@cache
def changes(zone: str) -> list[int]:
    """The hours within some years at whose end the clocks have changed, epoch seconds."""
    info = ZoneInfo(zone)
    found: list[int] = []
    begin = int(datetime(2014, 1, 1, tzinfo=UTC).timestamp())
    for hour in range(begin, begin + 14 * 365 * 86_400, 3600):
        if datetime.fromtimestamp(hour, info).utcoffset() != datetime.fromtimestamp(hour + 3600, info).utcoffset():
            found.append(hour)
    return found


def some_start(chance: random.Random, zone: str) -> int:
    """Mostly within two days of a change of clocks, to the minute."""
    if changes(zone) and chance.random() < 0.8:
        return (chance.choice(changes(zone)) + chance.randint(-2 * 86_400, 86_400)) // 60 * 60
    return chance.randint(1_400_000_000, 1_800_000_000) // 60 * 60


@cache
def minutes(zone: str, begin: int) -> list[tuple[int, datetime]]:
    """Every minute from a day before `begin` on, with its local time."""
    info = ZoneInfo(zone)
    instants = range(begin - 86_400, begin + 60 * WINDOW, 60)
    return [(instant, datetime.fromtimestamp(instant, info).replace(tzinfo=None)) for instant in instants]


def by_brute_force(expression: Expression, zone: str, start: int) -> list[int]:
    """All times within the window, one minute after the other."""
    begin = start // 86_400 * 86_400
    known = minutes(zone, begin)
    found: list[int] = []
    if not expression.fixed:
        found = [instant for instant, local in known if expression.matches(local)]
    else:
        seen: set[datetime] = set()
        for (_, before), (instant, local) in pairwise(known):
            # What the clocks have passed over comes now.
            passed = before + timedelta(minutes=1)
            if passed < local:
                skipped = (passed + timedelta(minutes=n) for n in range(int((local - passed).total_seconds() // 60)))
                found += [instant] * any(expression.matches(each) for each in skipped)
            if local not in seen and expression.matches(local):
                found.append(instant)
            seen.add(local)
    return sorted({instant for instant in found if instant > start})


def triples(chance: random.Random, number: int, zones: Sequence[str] = ZONES) -> list[tuple[Expression, str, int]]:
    found: list[tuple[Expression, str, int]] = []
    while len(found) < number:
        expression, zone = Expression(chance), chance.choice(zones)
        try:
            Cron(expression.text, zone)
        except ValueError:
            continue  # a date that never comes
        found.append((expression, zone, some_start(chance, zone)))
    return found


def test_the_times_are_those_that_brute_force_finds(seeded: random.Random) -> None:
    for expression, zone, start in triples(seeded, TRIPLES // 5):
        expected = by_brute_force(expression, zone, start)[:NEXT]
        cron, epoch, found = Cron(expression.text, zone), start, []
        for _ in expected:
            epoch = cron.next_after(epoch)
            found.append(epoch)
        assert found == expected, (expression.text, zone, start)
        if expected:
            assert cron.latest(expected[-1]) == expected[-1]
            assert cron.latest(expected[0] - 1) != expected[0]


def test_the_times_are_those_of_cronsim(seeded: random.Random) -> None:
    """It follows Debian too; but it knows no a/n, no changes within an hour, and where the clocks change at midnight it
    names midnights that do not exist.
    """
    compared = 0
    for expression, zone, start in triples(seeded, TRIPLES, PLAIN_ZONES):
        if any("/" in field.text and field.text[0] != "*" and "-" not in field.text for field in fields(expression)):
            continue
        begin = datetime.fromtimestamp(start, ZoneInfo(zone))
        if begin.fold:
            continue  # in the hour that comes twice it begins with times that have passed
        theirs = CronSim(expression.text, begin)
        cron, epoch = Cron(expression.text, zone), start
        for _ in range(NEXT):
            epoch = cron.next_after(epoch)
            assert next(theirs).timestamp() == epoch, (expression.text, zone, start)
        compared += 1
    assert compared > TRIPLES / 3


def fields(expression: Expression) -> tuple[Field, ...]:
    return (expression.minute, expression.hour, expression.day, expression.month, expression.weekday)
