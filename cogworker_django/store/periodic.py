"""Periodic entries in Redis: their slots, what processes publish of them, and what they were told (reference, 15).

A slot is a time at which an entry is due, in epoch seconds. Who fires it claims it and pushes the job in one step, so
that there is never a slot claimed by a process that died before it pushed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.lanes import lane_of
from cogworker_django.store import replies
from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.queues import NewJob, Queues


class Fired(StrEnum):
    """What became of a slot that somebody wanted to fire."""

    FIRED = "fired"
    TAKEN = "taken"
    """It, or a later one, was fired or passed before."""
    DISABLED = "disabled"
    EARLY = "early"
    """By the server's clock it is not due yet."""
    BLOCKED = "blocked"
    """The entry is unique, and its job of an earlier slot, or one like it, waits or runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What one look at some entries shows."""

    slots: Mapping[str, int]
    """The last slot of each entry that has one."""
    disabled: frozenset[str]
    damaged: bool
    """Whether what is disabled could not be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Everything:
    """All entries that processes show, and what is known of them."""

    now: float
    """Redis's time, epoch seconds."""
    entries: Mapping[str, dict[str, Any]]
    slots: Mapping[str, int]
    disabled: frozenset[str]
    runs: Mapping[str, dict[str, Any]]
    reasons: Mapping[str, dict[str, Any]]
    """Why entries were disabled: `reason`, `by`, `at`."""


class PeriodicStore:
    """Everything of periodic entries.

    Args:
        gateway: to Redis.
        queues: what goes with a new job.
        lock_ttl: seconds that the lock of a unique job lasts.
        status_ttl: milliseconds that a status lasts.
    """

    def __init__(self, gateway: Gateway, queues: Queues, *, lock_ttl: float, status_ttl: int) -> None:
        self._gateway = gateway
        self._keys = gateway.keys
        self._queues = queues
        self._ttls = (lock_ttl, status_ttl)

    def look(self, names: Sequence[str]) -> Look:
        """Look at the last slots and the switches of entries, in one round trip."""
        keys = self._keys
        commands = [("HMGET", keys.periodic_slots, *names), ("SMEMBERS", keys.periodic_disabled)]
        slots, disabled = replies.each(self._gateway, commands)
        damaged = isinstance(disabled, Exception)
        found = replies.or_else(slots, [None] * len(names))
        return Look(
            slots={name: int(slot) for name, slot in zip(names, found, strict=True) if _is_time(slot)},
            disabled=frozenset(name.decode(errors="replace") for name in replies.or_else(disabled, ())),
            damaged=damaged,
        )

    def fire(self, name: str, slot: int, job: NewJob) -> Fired:
        """Claim a slot and push its job, in one step.

        Args:
            name: the entry's.
            slot: epoch seconds.
            job: for a queue, without a due time.

        Raises:
            RedisUnavailable: Redis is away; whether it was fired is unknown, and a repeat fires it once.
            RedisRefused: the queue cannot take the job; the slot is still to be fired.
        """
        keys, queue = self._keys, job.payload["queue"]
        names = (
            keys.queue(lane_of(job.payload, queue)),
            keys.bell(queue),
            keys.queues,
            keys.periodic_slots,
            keys.periodic_disabled,
        )
        args: list[Arg] = [queue, keys.prefix, *self._ttls, name, slot, job.raw, job.payload["jid"]]
        args += self._queues.company(job)[1:]
        reply = self._gateway.run("fire_slot", (*names, keys.periodic_runs), args)
        return Fired(reply.decode())

    def skip(self, name: str, slot: int, *, first: bool = False) -> bool:
        """Claim a slot without a job.

        Args:
            name: the entry's.
            slot: epoch seconds.
            first: only if the entry never had one.

        Returns:
            Whether it was still to be claimed.
        """
        return bool(self._gateway.run("skip_slot", (self._keys.periodic_slots,), (name, slot, int(first))))

    def publish(self, entries: Mapping[str, bytes], kept: float) -> None:
        """Show entries, and take off those that no process has shown for a while.

        Args:
            entries: name and what is shown of each.
            kept: seconds after which one that nobody shows goes.
        """
        keys = self._keys
        args: list[Arg] = [kept]
        for name, shown in entries.items():
            args += (name, shown)
        self._gateway.run("publish_entries", (keys.periodic_entries, keys.periodic_seen), args)

    def published(self) -> dict[str, dict[str, Any]]:
        """Read the entries that processes show; what cannot be read is left out."""
        return _objects(self._gateway.call("HGETALL", self._keys.periodic_entries))

    def runs(self) -> dict[str, dict[str, Any]]:
        """Read the last run of each entry: its job, its slot, and its outcome once it has one."""
        return _objects(self._gateway.call("HGETALL", self._keys.periodic_runs))

    def everything(self) -> Everything:
        """Read all entries and what is known of them, in one round trip; what is damaged counts as nothing."""
        keys = self._keys
        commands = [
            ("HGETALL", keys.periodic_entries),
            ("HGETALL", keys.periodic_slots),
            ("SMEMBERS", keys.periodic_disabled),
            ("HGETALL", keys.periodic_runs),
            ("HGETALL", keys.periodic_reasons),
            ("TIME",),
        ]
        entries, slots, disabled, runs, reasons, now = replies.each(self._gateway, commands)
        return Everything(
            now=replies.seconds(now),
            entries=_objects(replies.or_else(entries, {})),
            slots={
                name.decode(errors="replace"): int(slot)
                for name, slot in replies.or_else(slots, {}).items()
                if _is_time(slot)
            },
            disabled=frozenset(name.decode(errors="replace") for name in replies.or_else(disabled, ())),
            runs=_objects(replies.or_else(runs, {})),
            reasons=_objects(replies.or_else(reasons, {})),
        )

    def disable(self, name: str, reason: Mapping[str, Any] | None = None) -> bool:
        """Let an entry not be fired; return whether it was enabled.

        Args:
            name: the entry's.
            reason: what is kept with it for people; None for nothing.
        """
        changed = bool(self._gateway.call("SADD", self._keys.periodic_disabled, name))
        if reason and changed:
            self._gateway.call("HSET", self._keys.periodic_reasons, name, codec.encode(reason))
        return changed

    def enable(self, name: str) -> bool:
        """Let an entry be fired again, from its next slot on; return whether it was disabled."""
        names = (self._keys.periodic_disabled, self._keys.periodic_slots)
        changed = bool(self._gateway.run("enable_entry", names, (name,)))
        self._gateway.call("HDEL", self._keys.periodic_reasons, name)
        return changed

    def holder(self, digest: str) -> str | None:
        """Return the id of the job that holds a unique job's lock; None when it is free."""
        holder = self._gateway.call("GET", self._keys.unique(digest))
        return None if holder is None else str(holder.decode(errors="replace"))


def _is_time(slot: bytes | None) -> bool:
    """The same as in `last_slot.lua`."""
    return slot is not None and slot.isdigit() and len(slot) < 12


def _objects(found: Mapping[bytes, bytes]) -> dict[str, dict[str, Any]]:
    objects = {}
    for name, raw in found.items():
        try:
            objects[name.decode()] = codec.decode(raw)
        except (UnreadablePayload, UnicodeDecodeError):
            continue
    return objects
