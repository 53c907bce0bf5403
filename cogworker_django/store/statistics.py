"""Counters: running totals and one bucket an hour (Reference 20)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.settlement import Command

HOUR = 3_600  # seconds
HOUR_KEPT = 90_000  # seconds that an hour's counters last after their latest change: a day and an hour
LENGTHS_AT_ONCE = 100  # queues counted in one round trip


class Counted(StrEnum):
    """What a run counts as; the values are the fields of an hour's hash."""

    PROCESSED = "processed"
    """It succeeded."""
    FAILED = "failed"
    """An attempt failed, or something that is no job was buried."""


DROPPED = "dropped"
"""What a run counts as that never was one, or was cancelled: neither."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HourCount:
    """What happened in one hour."""

    start: int
    """Epoch seconds of its beginning, UTC."""
    processed: int
    failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The whole installation in six numbers."""

    processed: int
    failed: int
    enqueued: int
    """Jobs on all listed queues."""
    scheduled_size: int
    retry_size: int
    dead_size: int


def hour_of(epoch: float) -> int:
    """Return the number of the hour, from the epoch, that a time in epoch seconds is in."""
    return int(epoch // HOUR)


class Statistics:
    """Builds the commands that count, and reads what was counted.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def counted(self, kind: Counted, hour: int, amount: int | str = 1) -> list[Command]:
        """Build the commands that count runs, for whoever settles them.

        Args:
            kind: what they count as.
            hour: the number of the hour on Redis's clock, by `hour_of`.
            amount: how many, or what stands for the number in a trip's gathered commands (`"$n"`).
        """
        total = self._keys.processed if kind is Counted.PROCESSED else self._keys.failed
        bucket = self._keys.throughput(hour)
        return [
            ["INCRBY", total, amount],
            ["HINCRBY", bucket, str(kind), amount],
            ["EXPIRE", bucket, HOUR_KEPT],
        ]

    def summary(self) -> Summary:
        """Read the totals and sizes in two round trips; what is damaged counts as 0."""
        keys = self._keys
        totals, names, *sizes = replies.each(
            self._gateway,
            [
                ("MGET", keys.processed, keys.failed),
                ("SMEMBERS", keys.queues),
                *(("ZCARD", key) for key in (keys.schedule, keys.retry, keys.dead)),
            ],
        )
        processed, failed = (number_in(total) for total in replies.or_else(totals, (None, None)))
        scheduled, retry, dead = (number_in(size) for size in sizes)
        return Summary(
            processed=processed,
            failed=failed,
            enqueued=self._enqueued(sorted(replies.or_else(names, ()))),
            scheduled_size=scheduled,
            retry_size=retry,
            dead_size=dead,
        )

    def series(self, hours: int = 24) -> list[HourCount]:
        """Read the hours up to the current one on Redis's clock, oldest first, with zeros for idle ones.

        Args:
            hours: how many; older ones than about a day are no longer there.
        """
        current = hour_of(replies.seconds(self._gateway.call("TIME")))
        numbers = range(current - hours + 1, current + 1)
        counts = replies.each(self._gateway, [("HMGET", self._keys.throughput(n), *map(str, Counted)) for n in numbers])
        return [_hour_count(n, reply) for n, reply in zip(numbers, counts, strict=True)]

    def _enqueued(self, names: list[bytes]) -> int:
        total = 0
        for first in range(0, len(names), LENGTHS_AT_ONCE):
            some = names[first : first + LENGTHS_AT_ONCE]
            keys = (key for name in some for key in self._keys.lanes(name.decode(errors="replace")))
            lengths = [("LLEN", key) for key in keys]
            total += sum(map(number_in, replies.each(self._gateway, lengths)))
        return total


def _hour_count(number: int, reply: Any) -> HourCount:
    processed, failed = (number_in(count) for count in replies.or_else(reply, (None, None)))
    return HourCount(start=number * HOUR, processed=processed, failed=failed)


def number_in(reply: Any) -> int:
    """Read a counter or a length; 0 for one that is missing or damaged."""
    try:
        return int(replies.or_else(reply, 0))
    except ValueError:
        return 0
