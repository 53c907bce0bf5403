"""What a verdict means in Redis: the commands by which a finished job leaves the in-progress hash."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from cogworker_django.store.record import Record

Command = list[str | int | float]
NOTHING_TOLD = Record("")


def delete_if_owner(key: str, owner: str) -> Command:
    """Releases a lock beside a verdict, unless it is another's by now (reference, 17.3).

    It waits in memory with its verdict while Redis is away, so that a release is never lost while its process lives.
    """
    return ["delete_if_owner", key, owner]


def expire_if_owner(key: str, owner: str, seconds: float) -> Command:
    """Makes a lock last so many seconds from now, rounded up, unless it is another's by now."""
    return ["expire_if_owner", key, owner, math.ceil(seconds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    """Where a failed job goes: an entry of one of the sets."""

    set: str
    """`retry`, `dead` or `schedule`."""
    score: float
    """Due time or time of death, epoch seconds."""
    entry: bytes


@dataclass(slots=True, kw_only=True)
class Settlement:
    """A verdict as commands, frozen so that a repeat after a lost reply writes the same bytes.

    The exchange's script runs it only while the token is there: the essential commands, the removal of the token,
    then the commands beside, whose errors change nothing.
    """

    token: str
    """The delivery token of the job."""
    jid: str
    """For the log."""
    kind: str
    """What it counts as: `processed` or `failed`."""
    essential: list[Command] = field(default_factory=list)
    """Commands without which the job would be lost: they come first, and an error leaves the job unsettled."""
    beside: list[Command] = field(default_factory=list)
    """Commands that go with it: attempts, trims, counters of the job."""
    filing: Filing | None = None
    """What the essential commands file, for a hand-over when that cannot be done before the process ends."""
    outlook: str = ""
    """What becomes of the job, for the log."""
    settled: Callable[[], None] | None = None
    """What to do once this process's write has stuck: death hooks."""
    record: Record | None = None
    """What people are told about the run."""
    plain: bool = False
    """Whether it is a success with nothing to write but the record."""
    tried: bool = False
    """Whether a trip with it has failed: it may be written already."""

    @property
    def size(self) -> int:
        """Characters of its commands, about what it takes on the wire."""
        commands = (*self.essential, *self.beside)
        told = len(self.record.status or "") + 2 * len(self.record.entry or "") if self.record else 0
        return told + sum(len(word) for command in commands for word in command if isinstance(word, str))

    def packed(self) -> tuple[object, ...]:
        """As the script takes it."""
        record = self.record or NOTHING_TOLD
        told = (record.jid or False, record.status or False, record.entry or False)
        if self.plain:
            return (self.token, *told)
        return (self.token, self.kind, self.essential, self.beside, *told)
