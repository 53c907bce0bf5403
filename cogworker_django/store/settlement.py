"""What a verdict means in Redis: the commands by which a finished job leaves the in-progress hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Command = list[str | int | float]


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
    outlook: str = ""
    """What becomes of the job, for the log."""
    settled: Callable[[], None] | None = None
    """What to do once this process's write has stuck: death hooks."""

    @property
    def size(self) -> int:
        """Characters of its commands, about what it takes on the wire."""
        commands = (*self.essential, *self.beside)
        return sum(len(word) for command in commands for word in command if isinstance(word, str))

    def packed(self) -> tuple[str, str, list[Command], list[Command]]:
        """As the script takes it."""
        return (self.token, self.kind, self.essential, self.beside)
