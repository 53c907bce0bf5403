"""The history: one entry a run, for people (reference, section 19).

Three lists, newest first: all runs, the successes, the failures. A trip adds its runs to each in one command and cuts
what is too much in another, however many they are; a page is a piece of a list. Measured with 50,000 entries and 100
runs a trip, two lists cost the server 1.6 µs a run, and the sorted sets of upstream 5.5 (Redis 7.0) and 8 (Valkey 9),
for nothing that the pages need: the entries arrive in the order of their ends anyhow. The runs of one job are searched
for, 2,000 entries a call, 50,000 in some 40 ms: an index would cost every run a command, and few are ever looked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.jobset_reader import BYTES_AT_ONCE
from cogworker_django.store.settlement import Command
from cogworker_django.store.statistics import Counted

ALL, SUCCESS, FAILED = "all", "success", "failed"
OF_KIND = {Counted.PROCESSED: SUCCESS, Counted.FAILED: FAILED}
"""Which list, and which counter of the day, a run belongs to."""
SEARCHED_AT_ONCE = 2_000
"""Entries that one call of a search looks at."""
TRIMMED_AT_ONCE = 1_000
DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCount:
    """The runs of one day, UTC."""

    day: str
    """As in 2026-12-01."""
    success: int
    failed: int


class RunHistory:
    """Reads the history, and trims what is too old.

    Args:
        gateway: to Redis.
        max_entries: entries kept of each list; 0 when no history is kept.
        retention: seconds that an entry is kept.
        daily_retention: seconds that the counters of a day are kept.
    """

    def __init__(self, gateway: Gateway, *, max_entries: int, retention: float, daily_retention: float) -> None:
        self._gateway = gateway
        self._keys = gateway.keys
        self.max_entries = max_entries
        self._retention = retention
        self._daily_retention = daily_retention

    def counted(self, now: float) -> list[tuple[str, Command]]:
        """Build the commands that count the runs of a trip for their day; nothing when no history is kept.

        Args:
            now: Redis's time, epoch seconds.
        """
        if not self.max_entries:
            return []
        key, ttl = self._keys.daily(day_of(now)), math.ceil(self._daily_retention)
        commands: list[tuple[str, Command]] = []
        for kind, name in OF_KIND.items():
            commands += [(str(kind), ["HINCRBY", key, name, "$n"]), (str(kind), ["EXPIRE", key, ttl])]
        return commands

    def page(self, status: str, start: int, stop: int) -> tuple[list[dict[str, Any]], int]:
        """Read entries, newest first, from one position to another, both included and counted from 0.

        Args:
            status: `"all"`, `"success"` or `"failed"`.
            start: the first.
            stop: the last.

        Returns:
            The entries that can be read, and how many there are in all.
        """
        key = self._keys.history(status)
        raws, total = replies.each(self._gateway, [("LRANGE", key, start, stop), ("LLEN", key)])
        return _entries(replies.or_else(raws, ())), int(replies.or_else(total, 0))

    def search(self, status: str, jid: str) -> list[dict[str, Any]]:
        """Search for the runs of one job, newest first."""
        key, text, start, found = (
            self._keys.history(status),
            codec.encode({"jid": jid})[1:-1],
            0,
            list[dict[str, Any]](),
        )
        while True:
            args = (start, SEARCHED_AT_ONCE, BYTES_AT_ONCE, text)
            try:
                start, *raws = self._gateway.run("search_history", (key,), args)
            except RedisRefused:
                return found
            found += [entry for entry in _entries(raws) if entry.get("jid") == jid]
            if start == 0:
                return found

    def trim(self) -> int:
        """Delete entries older than the retention, 1,000 a call; return how many."""
        total = 0
        for name in (ALL, SUCCESS, FAILED):
            removed = TRIMMED_AT_ONCE
            while removed == TRIMMED_AT_ONCE:
                args = (self._retention, TRIMMED_AT_ONCE)
                removed = int(self._gateway.run("trim_history", (self._keys.history(name),), args))
                total += removed
        return total

    def daily(self, days: int) -> list[DayCount]:
        """Read the counters of the last days up to today on Redis's clock, oldest first; without those of no runs.

        Args:
            days: how many, today included.
        """
        today = datetime.fromtimestamp(replies.seconds(self._gateway.call("TIME")), UTC)
        names = [(today - timedelta(days=ago)).strftime("%Y-%m-%d") for ago in reversed(range(days))]
        commands = [("HMGET", self._keys.daily(name), SUCCESS, FAILED) for name in names]
        counts = (replies.or_else(reply, (None, None)) for reply in replies.each(self._gateway, commands))
        return [
            DayCount(day=name, success=_number(success), failed=_number(failed))
            for name, (success, failed) in zip(names, counts, strict=True)
            if success is not None or failed is not None
        ]


def day_of(epoch: float) -> str:
    """Return the UTC day of a time, as in 2026-12-01."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")


def _entries(raws: Sequence[bytes]) -> list[dict[str, Any]]:
    found = []
    for raw in raws:
        try:
            found.append(codec.decode(raw))
        except UnreadablePayload:
            continue
    return found


def _number(count: bytes | None) -> int:
    try:
        return int(count or 0)
    except ValueError:
        return 0
