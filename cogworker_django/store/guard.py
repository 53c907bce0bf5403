"""Finding keys of ours that hold the wrong type of value, and moving them out of the way (reference, section 22)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.keys import Keys
from cogworker_django.store.patterns import literal
from cogworker_django.store.statistics import hour_of

KEPT = 30 * 86_400
"""Seconds that a damaged key is kept."""
MOST_COPIES = 5
"""Copies of one key that are kept, the newest."""
BATCH = 500
"""Types asked for in one round trip."""
SCAN_STEPS = 10
"""Steps that one look goes through the key space for keys of single jobs, which nothing lists. The next look goes on
from there: such a key is found within minutes, and no look is long."""
COPY = re.compile(r"(.+):([0-9]{1,18}):[0-9a-f]{8}")
"""The name of a copy: that of the key, epoch milliseconds and chance."""
STAMP = re.compile(rb"[\d.]+")
"""What a beat begins with: epoch seconds."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A key of the wrong type that was moved away."""

    key: str
    expected: str
    actual: str
    copy: str
    """Where its data are now."""


class Guard:
    """Checks the types of all keys of ours.

    Args:
        gateway: to Redis.
        threshold: seconds without a beat after which a process is dead.
    """

    def __init__(self, gateway: Gateway, *, threshold: float) -> None:
        self._gateway = gateway
        self._keys = gateway.keys
        self._threshold = threshold
        self._cursor = 0

    def damaged(self, queues: Iterable[str]) -> dict[str, str]:
        """Every key of the wrong type: its name and the type that it should have.

        Args:
            queues: names that may not be listed.
        """
        keys, now = self._keys, replies.seconds(self._gateway.call("TIME"))
        listed = [name.decode(errors="replace") for name in self._readable("SMEMBERS", keys.queues, ())]
        beats = self._readable("HGETALL", keys.beats, {})
        expected = _fixed(keys) | {keys.throughput(hour_of(now) - ago): "hash" for ago in (0, 1)}
        for name in {*queues, *listed}:
            expected |= _of_queue(keys, name)
        for identity, beat in beats.items():
            expected |= self._of_process(identity.decode(errors="replace"), beat, now)
        return self._wrong(expected | self._of_jobs())

    def quarantine(self, key: str, expected: str) -> Damage | None:
        """Moves a key away if it still has the wrong type; None if it has not."""
        copy = copy_name(self._keys, key, replies.seconds(self._gateway.call("TIME")))
        actual = self._gateway.run("quarantine", (key, copy, self._keys.nothing), (expected, KEPT))
        if actual is None:
            return None
        return Damage(key=key, expected=expected, actual=actual.decode(), copy=copy)

    def trim_copies(self) -> int:
        """Deletes all but the newest copies of each key; how many went. Reads the whole key space in steps."""
        copies: dict[str, list[tuple[int, bytes]]] = {}
        for name in self._gateway.scan_all(copy_stem(self._keys, "")):
            match = COPY.fullmatch(name.decode(errors="replace"))
            if match:
                copies.setdefault(match[1], []).append((int(match[2]), name))
        old = [name for of_one in copies.values() for _, name in sorted(of_one)[:-MOST_COPIES]]
        for first in range(0, len(old), BATCH):
            self._gateway.call("UNLINK", *old[first : first + BATCH])
        return len(old)

    def _readable(self, command: str, key: str, otherwise: object) -> Any:
        """What a listing says; one that is damaged is dealt with itself, and what it lists at the next look."""
        try:
            return self._gateway.call(command, key)
        except RedisRefused:
            return otherwise

    def _of_process(self, identity: str, beat: bytes, now: float) -> dict[str, str]:
        keys = self._keys
        expected = {keys.process(identity): "string", keys.work(identity): "string", keys.signals(identity): "list"}
        # That of a living process is its own to restore: it knows what was in it.
        if self._is_dead(identity, beat, now):
            expected[keys.in_progress(identity)] = "hash"
        return expected

    def _is_dead(self, identity: str, beat: bytes, now: float) -> bool:
        """As recovery has it: of a process whose stamp cannot be read, its presence decides (lib/is_alive.lua)."""
        stamp = _stamp(beat)
        if stamp is None:
            return not self._gateway.call("EXISTS", self._keys.process(identity))
        return now - stamp > self._threshold

    def _of_jobs(self) -> dict[str, str]:
        """Some of the records of failed attempts. Orphan counters are made anew by the scripts that meet them."""
        pattern = literal(self._keys.attempts("")) + "*"
        expected: dict[str, str] = {}
        for _ in range(SCAN_STEPS):
            try:
                self._cursor, found = self._gateway.scan(self._cursor, pattern)
            except RedisRefused:
                # A user that may not look around; recovery tells about it.
                break
            expected |= {key.decode(errors="replace"): "list" for key in found}
            if self._cursor == 0:
                break
        return expected

    def _wrong(self, expected: Mapping[str, str]) -> dict[str, str]:
        names, wrong = list(expected), {}
        for first in range(0, len(names), BATCH):
            some = names[first : first + BATCH]
            types = self._gateway.pipeline([("TYPE", name) for name in some])
            for name, actual in zip(some, types, strict=True):
                if actual.decode() not in ("none", expected[name]):
                    wrong[name] = expected[name]
        return wrong


def copy_stem(keys: Keys, key: str) -> str:
    """How the names of all copies of a key begin."""
    return f"{keys.prefix}quarantine:{key.removeprefix(keys.prefix)}"


def copy_name(keys: Keys, key: str, now: float) -> str:
    """A name for a copy of a damaged key that no other has: two in one second are two.

    Args:
        keys: the names of the keys.
        key: the damaged one.
        now: epoch seconds.
    """
    return f"{copy_stem(keys, key)}:{now * 1000:.0f}:{secrets.token_hex(4)}"


def _fixed(keys: Keys) -> dict[str, str]:
    return {
        **dict.fromkeys((keys.schedule, keys.retry, keys.dead), "zset"),
        **dict.fromkeys((keys.queues, keys.paused_queues, keys.periodic_disabled), "set"),
        **dict.fromkeys((keys.unsettled, keys.set_aside, keys.schedule_bell), "list"),
        **dict.fromkeys((keys.processed, keys.failed, keys.orphaned), "string"),
        **dict.fromkeys((keys.beats, keys.periodic_entries, keys.periodic_seen), "hash"),
        **dict.fromkeys((keys.periodic_slots, keys.periodic_runs), "hash"),
    }


def _of_queue(keys: Keys, name: str) -> dict[str, str]:
    lists = (*keys.lanes(name), keys.bell(name))
    return {**dict.fromkeys(lists, "list"), keys.careful(name): "string"}


def _stamp(beat: bytes) -> float | None:
    found = STAMP.match(beat)
    try:
        return float(found[0]) if found else None
    except ValueError:
        return None
