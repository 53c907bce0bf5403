"""When a periodic job is due: a cron expression in a time zone, by the rules of Debian's cron (Contract 5).

croniter walks the naive local times that match; what becomes of them where clocks change is decided here:

- An entry that names its times (neither minute nor hour begins with a star) runs once for each of them: where the
  clocks go forward over it at the first instant after, where they go back at the first of the two.
- All others follow real time: what the clocks pass over does not come, what they repeat comes twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

from cogworker_django.core.cron_fields import Fields, read_fields
from cogworker_django.core.text import described

# Any day to see from whether an expression ever matches.
SOME_DAY = datetime(2000, 1, 1)
# Longer than any shift of clocks but those over the date line, which are a day.
REACH = timedelta(hours=25)
NAIVE_END = datetime(9000, 1, 1)


@dataclass(frozen=True)
class Cron:
    """When something is due.

    Args:
        expression: five fields, or a shorthand such as ``@hourly``.
        zone: the name of a time zone, as in ``Europe/Rome``.

    Raises:
        TypeError: one of them is no string.
        ValueError: one of them is wrong, or no date ever matches; the message says what.
    """

    expression: str
    zone: str
    _fields: Fields = field(init=False, repr=False, compare=False)
    _info: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_fields", read_fields(self.expression))
        object.__setattr__(self, "_info", zone_named(self.zone))
        try:
            next(self._walk(SOME_DAY, forward=True))
        except (CroniterError, StopIteration):
            raise ValueError(f"no date ever matches {described(self.expression)}") from None

    def next_after(self, epoch: float) -> int:
        """Find the first time after an instant.

        Args:
            epoch: epoch seconds.

        Returns:
            Epoch seconds.
        """
        here = self._local(epoch)
        # While the clocks are about to go back, a local time that has passed comes once more.
        back = max(timedelta(), self._offset(epoch) - self._offset(epoch + REACH.total_seconds()))
        best: float | None = None
        for naive in self._walk(here - back, forward=True):
            found = [instant for instant in self._instants(naive) if instant > epoch]
            best = min([*found, best]) if best is not None else min(found, default=None)
            if best is not None and naive > here:
                return int(best)
        raise ValueError(f"{described(self.expression)} matches no date before the year 9000")

    def latest(self, epoch: float) -> int | None:
        """Find the last time that is not after an instant.

        Args:
            epoch: epoch seconds.

        Returns:
            Epoch seconds; None after the year 9000, where the calendar ends.
        """
        here = self._local(epoch)
        ahead = max(timedelta(), self._offset(epoch - REACH.total_seconds()) - self._offset(epoch))
        best: float | None = None
        # An expression that matches at all does so every 40 years, so this ends.
        for naive in self._walk(here + ahead + timedelta(seconds=1), forward=False):
            found = [instant for instant in self._instants(naive) if instant <= epoch]
            best = max([*found, best]) if best is not None else max(found, default=None)
            if best is not None and naive <= here:
                return int(best)
        return None

    def upcoming(self, after: datetime, count: int) -> list[datetime]:
        """List the next times.

        Args:
            after: an aware datetime.
            count: how many.

        Returns:
            Aware datetimes in the zone of the entry.
        """
        times: list[datetime] = []
        epoch: float = after.timestamp()
        for _ in range(count):
            epoch = self.next_after(epoch)
            times.append(datetime.fromtimestamp(epoch, self._info))
        return times

    def _walk(self, start: datetime, *, forward: bool) -> Iterator[datetime]:
        """The naive local times that match, from the one after or before `start` on."""
        steps = croniter(self._fields.plain, start, ret_type=datetime, day_or=self._fields.either_day)
        while True:
            naive: datetime = steps.get_next() if forward else steps.get_prev()
            if naive >= NAIVE_END:
                return
            yield naive

    def _instants(self, naive: datetime) -> list[float]:
        """When a local time comes, epoch seconds: once, twice, or not at all."""
        first, second = (naive.replace(tzinfo=self._info, fold=fold).timestamp() for fold in (0, 1))
        exists = self._local(first) == naive
        if self._fields.fixed:
            return [first if exists else _end_of_gap(naive, self._info)]
        if not exists:
            return []
        return [first] if first == second else [first, second]

    def _local(self, epoch: float) -> datetime:
        return datetime.fromtimestamp(epoch, self._info).replace(tzinfo=None)

    def _offset(self, epoch: float) -> timedelta:
        return datetime.fromtimestamp(epoch, self._info).utcoffset() or timedelta()


def zone_named(name: str) -> ZoneInfo:
    """Find a time zone.

    Raises:
        TypeError: the name is no string.
        ValueError: there is no such zone.
    """
    if type(name) is not str:
        raise TypeError(f"a time zone is named by a string, not {described(name)}")
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError(f"there is no time zone {described(name)}: give a name such as Europe/Rome") from None


def _end_of_gap(naive: datetime, zone: ZoneInfo) -> float:
    """The first instant after a local time that does not exist: when the clocks have gone forward."""
    # Read with the offset from before it lies after the gap, with the one from after it before.
    low, high = (naive.replace(tzinfo=zone, fold=fold).timestamp() for fold in (1, 0))
    before = datetime.fromtimestamp(low, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
