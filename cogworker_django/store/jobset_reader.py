"""Reading the three sorted sets of jobs that wait for something, never a whole one at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from cogworker_django.core import codec, text
from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.core.unique import digest_in
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.patterns import literal

AT_ONCE = 1_000  # entries that one script call handles: a call of that size stays far below 100 ms
BYTES_AT_ONCE = 4 * 1024 * 1024  # bytes read per call in bulk, as a payload may have 1 MiB
PAGE = 50  # entries per step when somebody walks through a set (Reference 33)
SCANNED_AT_ONCE = 1_000  # entries that one step of a search looks at: a few milliseconds of the server's time


class SetName(StrEnum):
    """Which of the sets."""

    SCHEDULE = "schedule"
    """Jobs with a due time that have not run yet."""
    RETRY = "retry"
    """Jobs that failed and will run again."""
    DEAD = "dead"
    """Jobs that will not run again by themselves."""


class Entry(NamedTuple):
    """One job in a set."""

    member: bytes
    """The job as stored: these bytes are its name and are never rebuilt (Reference 0)."""
    score: float
    """Epoch seconds on Redis's clock: when it is due, or when it died."""


class JobSetReader:
    """Every read of the sets.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys
        self._of = {
            SetName.SCHEDULE: self._keys.schedule,
            SetName.RETRY: self._keys.retry,
            SetName.DEAD: self._keys.dead,
        }

    def now(self) -> float:
        """Return Redis's time, epoch seconds."""
        return replies.seconds(self._gateway.call("TIME"))

    def size(self, name: SetName) -> int:
        """Count the entries of a set."""
        return int(self._gateway.call("ZCARD", self._of[name]))

    def earliest(self) -> tuple[float | None, float | None]:
        """Return the first due times of `schedule` and `retry`, passed or not.

        Two plain commands in one round trip, since every process does this all the time. A damaged set counts
        as due long ago: `due` tells the damage.
        """
        looks = [("ZRANGE", key, 0, 0, "WITHSCORES") for key in (self._keys.schedule, self._keys.retry)]
        schedule, retry = map(_first_score, replies.each(self._gateway, looks))
        return schedule, retry

    def due(self, name: SetName, limit: int = AT_ONCE) -> tuple[float, list[Entry]]:
        """Read the entries whose time has come on Redis's clock, the earliest first.

        Args:
            name: the set.
            limit: at most so many, up to 1,000; fewer come when they are large.

        Returns:
            Redis's time and the entries.
        """
        return self._lowest(name, 1, 0, limit)

    def lowest(self, name: SetName, skip: int = 0, limit: int = AT_ONCE) -> tuple[float, list[Entry]]:
        """Read the entries with the lowest scores, due or not; otherwise as `due`.

        Args:
            name: the set.
            skip: how many to pass over.
            limit: at most so many, up to 1,000; fewer come when they are large.
        """
        return self._lowest(name, 0, skip, limit)

    def page(self, name: SetName, start: int, stop: int, *, newest_first: bool = False) -> list[Entry]:
        """Read the entries from one rank to another, both included.

        Args:
            name: the set.
            start: the first rank, from 0.
            stop: the last rank.
            newest_first: whether rank 0 is the highest score.
        """
        command = "ZREVRANGE" if newest_first else "ZRANGE"
        return entries(self._gateway.call(command, self._of[name], start, stop, "WITHSCORES"))

    def walk(self, name: SetName, *, newest_first: bool = False, size: int = PAGE) -> Iterator[Entry]:
        """Go through a set in pages.

        Each page begins behind the last entry of the one before, so no entry that stays is passed over or
        comes twice, whatever is added or deleted meanwhile.

        Args:
            name: the set.
            newest_first: whether to begin with the highest score.
            size: entries per page.
        """
        page = self.page(name, 0, size - 1, newest_first=newest_first)
        while page:
            yield from page
            page = self._page_after(name, page[-1], newest_first, size)

    def find(self, name: SetName, jid: str) -> Entry | None:
        """Search a set for a job, in steps of a few milliseconds of the server's time each.

        Args:
            name: the set.
            jid: the job's id.
        """
        pattern, cursor = f"*{literal(stored_text(jid))}*", 0
        while True:
            scan = ("ZSCAN", self._of[name], cursor, "MATCH", pattern, "COUNT", SCANNED_AT_ONCE)
            cursor, flat = self._gateway.call(*scan)
            for entry in entries(flat):
                if jid_of(entry.member) == jid:
                    return entry
            if int(cursor) == 0:
                return None

    def _lowest(self, name: SetName, only_due: int, skip: int, limit: int) -> tuple[float, list[Entry]]:
        now, *flat = self._gateway.run("lowest", [self._of[name]], [only_due, skip, limit, BYTES_AT_ONCE])
        return float(now), entries(flat)

    def _page_after(self, name: SetName, last: Entry, newest_first: bool, size: int) -> list[Entry]:
        start = self._rank_after(name, last, newest_first)
        while page := self.page(name, start, start + size - 1, newest_first=newest_first):
            rest = [entry for entry in page if _is_behind(entry, last, newest_first)]
            if rest:
                return rest
            start += size
        return []

    def _rank_after(self, name: SetName, last: Entry, newest_first: bool) -> int:
        """Return the rank behind an entry; behind all with a lesser score if it has gone or moved."""
        key, limit = self._of[name], f"({last.score!r}"
        rank, before = ("ZREVRANK", (limit, "+inf")) if newest_first else ("ZRANK", ("-inf", limit))
        found, score, lesser = self._gateway.pipeline(
            [(rank, key, last.member), ("ZSCORE", key, last.member), ("ZCOUNT", key, *before)]
        )
        if found is None or score is None or float(score) != last.score:
            return int(lesser)
        return int(found) + 1


def entries(reply: Sequence[Any]) -> list[Entry]:
    """Read entries with scores as scripts and all versions of redis-py give them: in a row, or in pairs."""
    if reply and isinstance(reply[0], list | tuple):
        return [Entry(member, float(score)) for member, score in reply]
    return [Entry(member, float(score)) for member, score in zip(reply[::2], reply[1::2], strict=True)]


def _first_score(reply: Any) -> float | None:
    if isinstance(reply, RedisRefused):
        return -math.inf
    found = entries(reply)
    return found[0].score if found else None


def stored_text(jid: str) -> str:
    """Return an id as it stands inside a payload, where JSON quotes it and escapes what needs it."""
    return codec.encode(text.scrub(jid, len(jid))).decode()


def jid_of(member: bytes) -> str:
    """Return an entry's job id; an empty string when it has none that can be read."""
    try:
        jid = codec.decode(member).get("jid")
    except UnreadablePayload:
        return ""
    return jid if isinstance(jid, str) else ""


def names_in(member: bytes) -> tuple[str, str]:
    """Return what else of an entry's job lies under names of its own: its id, and the digest of its lock.

    Each is an empty string when it has none that can be read.
    """
    try:
        item = codec.decode(member)
    except UnreadablePayload:
        return "", ""
    jid = item.get("jid")
    return (jid, digest_in(item) or "") if isinstance(jid, str) else ("", "")


def _is_behind(entry: Entry, last: Entry, newest_first: bool) -> bool:
    """Entries of one score are in the order of their bytes, so score and bytes together are a place."""
    place, seen = (entry.score, entry.member), (last.score, last.member)
    return place < seen if newest_first else place > seen
