"""A cron expression in words, for whoever does not read five fields at night."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cogworker_django.core.cron_fields import read_fields

STEP = re.compile(r"\*/(\d+)")
MOST_TIMES = 6  # times of the day that are named one by one
ORDINALS = {
    "1": gettext_lazy("first"),
    "2": gettext_lazy("second"),
    "3": gettext_lazy("third"),
    "4": gettext_lazy("fourth"),
    "5": gettext_lazy("fifth"),
    "L": gettext_lazy("last"),
}


def in_words(expression: str) -> str:
    """Say when an expression is due, as in "at 02:30 on Monday to Friday".

    Args:
        expression: five fields or a shorthand.

    Returns:
        The words; an empty text for what is no expression.
    """
    try:
        fields = read_fields(expression)
    except (TypeError, ValueError):
        return ""
    minute, hour, day, month, weekday = fields.plain.split()
    parts = [_times(fields.words[0], minute, fields.words[1], hour)]
    days = [words for words in (_days(day), _weekdays(weekday)) if words]
    if days:
        parts.append((_(" or ") if fields.either_day else _(" and ")).join(days))
    if month != "*":
        parts.append(_("in %(months)s") % {"months": _listed(month, lambda number: str(MONTHS[number]))})
    return " ".join(parts)


def _times(minute_word: str, minute: str, hour_word: str, hour: str) -> str:
    minutes, hours = _numbers(minute), _numbers(hour)
    if hour == "*":
        return _in_every_hour(minute_word, minute)
    if minute == "*":
        return _("every minute of the hours %(hours)s") % {"hours": _listed(hour, str)}
    if len(minutes) * len(hours) <= MOST_TIMES:
        return _("at %(times)s") % {"times": _joined([f"{h:02}:{m:02}" for h in hours for m in minutes])}
    step = STEP.fullmatch(hour_word)
    if step and 24 % int(step[1]) == 0 and len(minutes) == 1:
        return _("every %(number)s hours at minute %(minute)s") % {"number": step[1], "minute": minute}
    facts = {"minutes": _in_every_hour(minute_word, minute), "hours": _listed(hour, str)}
    return _("%(minutes)s, in the hours %(hours)s") % facts


def _in_every_hour(word: str, minute: str) -> str:
    if minute == "*" or word == "*/1":
        return _("every minute")
    step = STEP.fullmatch(word)
    if step and 60 % int(step[1]) == 0:
        return _("every %(number)s minutes") % {"number": step[1]}
    return _("every hour at minute %(minutes)s") % {"minutes": _listed(minute, str)}


def _days(day: str) -> str:
    if day == "*":
        return ""
    words = [_("the last day of the month")] if "L" in day.split(",") else []
    numbers = ",".join(part for part in day.split(",") if part != "L")
    if numbers:
        words.insert(0, _("day %(days)s of the month") % {"days": _listed(numbers, str)})
    return _("on %(days)s") % {"days": _joined(words)}


def _weekdays(weekday: str) -> str:
    if weekday == "*":
        return ""
    if weekday.replace(",", "").isdigit():
        return _("on %(days)s") % {"days": _listed(weekday, _weekday)}
    words = []
    for part in weekday.split(","):
        number, _hash, nth = part.partition("#")
        if part.startswith("L"):
            number, nth = part[1:], "L"
        words.append(_("the %(nth)s %(day)s") % {"nth": ORDINALS.get(nth, nth), "day": _weekday(int(number))})
    return _("on %(days)s") % {"days": _joined(words)}


def _weekday(number: int) -> str:
    # Django's week begins with Monday, cron's with Sunday.
    return str(WEEKDAYS[(number - 1) % 7])


def _numbers(field: str) -> list[int]:
    return [int(part) for part in field.split(",")] if field != "*" else []


def _listed(field: str, call: Callable[[int], str]) -> str:
    """Numbers, neighbours written as a range."""
    numbers, words = _numbers(field), list[str]()
    start = 0
    for index, number in enumerate(numbers):
        if index + 1 < len(numbers) and numbers[index + 1] == number + 1:
            continue
        run = numbers[start : index + 1]
        if len(run) > 2:
            words.append(_("%(first)s to %(last)s") % {"first": call(run[0]), "last": call(run[-1])})
        else:
            words += [call(each) for each in run]
        start = index + 1
    return _joined(words)


def _joined(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return _("%(others)s and %(last)s") % {"others": ", ".join(words[:-1]), "last": words[-1]}
