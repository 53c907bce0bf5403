"""The five fields of a cron expression: read, checked, and written out as plain lists of numbers (Contract 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cogworker_django.core.text import described

SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@noon": "0 12 * * *",
    "@hourly": "0 * * * *",
}
ORDER = "minute, hour, day of month, month, day of week"
RANGE = re.compile(r"(?P<first>[0-9a-z]+|\*)(?:-(?P<last>[0-9a-z]+))?(?:/(?P<step>[0-9]+))?", re.ASCII)
NTH = re.compile(r"(?P<day>[0-9a-z]+)#(?P<nth>[1-5]|l|last)", re.ASCII)
LAST_WEEKDAY = re.compile(r"l(?P<day>[0-9a-z]+)", re.ASCII)


@dataclass(frozen=True)
class Kind:
    """One of the five fields."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MINUTE, HOUR = Kind("minute", 0, 59), Kind("hour", 0, 23)
DAY = Kind("day of month", 1, 31)
MONTH = Kind("month", 1, 12, {name: number for number, name in enumerate(MONTHS, start=1)})
# 7 is Sunday too, and a range may end on it.
WEEKDAY = Kind("day of week", 0, 7, {name: number for number, name in enumerate(WEEKDAYS)})
KINDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


@dataclass(frozen=True)
class Fields:
    """A checked expression."""

    words: tuple[str, ...]
    """The five fields in lower case, shorthands written out."""
    plain: str
    """The same for croniter: lists of numbers, without names, ranges and steps."""

    @property
    def fixed(self) -> bool:
        """Whether it names its times of the day: neither minute nor hour begins with a star. Such an entry runs once
        for each of them, whatever the clocks do (crontab(5) of Debian).
        """
        return not (self.words[0].startswith("*") or self.words[1].startswith("*"))

    @property
    def either_day(self) -> bool:
        """Whether a day may match either of the two fields of days: only when neither begins with a star."""
        return not (self.words[2].startswith("*") or self.words[4].startswith("*"))


def read_fields(expression: str) -> Fields:
    """Read an expression.

    Raises:
        TypeError: it is no string.
        ValueError: it is no cron expression; the message names the field and what it may hold.
    """
    if type(expression) is not str:
        raise TypeError(f"a cron expression is a string of five fields, not {described(expression)}")
    text = expression.strip().lower()
    if text.startswith("@"):
        if text not in SHORTHANDS:
            raise ValueError(f"{described(expression)} is none of {', '.join(sorted(SHORTHANDS))}")
        text = SHORTHANDS[text]
    words = tuple(text.split())
    if len(words) == len(KINDS) + 1:
        raise ValueError(f"{described(expression)} has six fields, and there are no seconds: five are meant, {ORDER}")
    if len(words) != len(KINDS):
        raise ValueError(f"{described(expression)} has {len(words)} fields, not five: {ORDER}")
    return Fields(words, " ".join(_plain(word, kind) for word, kind in zip(words, KINDS, strict=True)))


def _plain(word: str, kind: Kind) -> str:
    """One field for croniter."""
    numbers: set[int] = set()
    special: list[str] = []
    for part in word.split(","):
        if part == "*":
            return "*"
        found = _special(part, kind)
        if found is None:
            numbers |= _numbers(part, kind)
        else:
            special.append(found)
    if kind is WEEKDAY:
        numbers = {number % 7 for number in numbers}
        if special and numbers:
            raise _fault(word, kind, "a list holds either days of the week or n-th ones, not both")
    return ",".join([*map(str, sorted(numbers)), *special])


def _special(part: str, kind: Kind) -> str | None:
    """The last day of a month, and the n-th or last weekday of one, as croniter writes them."""
    if kind is DAY and part == "l":
        return "L"
    if kind is not WEEKDAY:
        return None
    nth, last = NTH.fullmatch(part), LAST_WEEKDAY.fullmatch(part)
    if nth:
        day = _number(nth["day"], kind, part) % 7
        return f"{day}#{nth['nth']}" if nth["nth"].isdigit() else f"L{day}"
    return f"L{_number(last['day'], kind, part) % 7}" if last else None


def _numbers(part: str, kind: Kind) -> set[int]:
    """What a number, a range or a step stands for."""
    match = RANGE.fullmatch(part)
    if match is None:
        raise _fault(part, kind, "it holds *, numbers, ranges as in 1-5, steps as in */10, and lists of these")
    step = int(match["step"] or 1)
    if step == 0:
        raise _fault(part, kind, "a step is 1 or more")
    if match["first"] == "*":
        if match["last"]:
            raise _fault(part, kind, "* is no end of a range")
        return set(range(kind.lowest, (6 if kind is WEEKDAY else kind.highest) + 1, step))
    first = _number(match["first"], kind, part)
    if match["last"]:
        last = _number(match["last"], kind, part)
    else:
        # 10/5 begins at 10 and goes on to the end of the field.
        last = first if match["step"] is None else max(first, 6 if kind is WEEKDAY else kind.highest)
    if last == 0 and first > 0 and kind is WEEKDAY:
        last = 7
    if last < first:
        raise _fault(part, kind, "a range begins with the smaller number")
    return set(range(first, last + 1, step))


def _number(text: str, kind: Kind, part: str) -> int:
    number = kind.names.get(text, int(text) if text.isascii() and text.isdigit() else None)
    if number is None or not kind.lowest <= number <= kind.highest:
        names = f", or {', '.join(kind.names)}" if kind.names else ""
        raise _fault(part, kind, f"it is {kind.lowest} to {kind.highest}{names}")
    return number


def _fault(part: str, kind: Kind, rule: str) -> ValueError:
    return ValueError(f"the {kind.name} cannot be {described(part)}: {rule}")
