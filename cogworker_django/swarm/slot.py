"""One place for a process in a swarm, and the process in it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from enum import StrEnum

from cogworker_django.process.condition import Condition
from cogworker_django.process.link import Link, SlotRow, Table

HEALTHY = 30.0
"""Seconds that a process must have lived for its end to be no sign of a fault that comes again (reference, 27)."""
LONGEST_DELAY = 60.0
"""Seconds between two starts in a slot at most."""


class State(StrEnum):
    """How a slot is, as the pages show it."""

    STARTING = "starting"
    """Its process has not beaten yet."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Its process was told to leave."""
    WAITING = "waiting"
    """Its process has ended; the next one comes after a pause."""
    RETIRED = "retired"
    """It was stopped from afar, for good."""
    DRAINED = "drained"
    """All was done."""


class Child:
    """A process that this one has forked.

    Args:
        pid: its id.
        link: the wire to it.
    """

    def __init__(self, pid: int, link: Link) -> None:
        self.pid = pid
        self.link = link
        self.born = time.monotonic()
        self.condition: Condition | None = None
        """As it told last."""
        self.told_to_leave = False
        self.kill_at: float | None = None
        """When patience with it ends, on the monotonic clock."""
        self.leaves_as: State | None = None
        """What its slot becomes when it leaves by itself, for good."""
        self.problem = ""
        """Why it cannot start."""
        self._shown: Table | None = None

    @property
    def has_beaten(self) -> bool:
        """Whether it has begun to work."""
        return self.condition is not None and bool(self.condition.identity)

    def stop(self, patience: float) -> None:
        """Tell it to leave.

        Args:
            patience: seconds after which it is killed.
        """
        if not self.told_to_leave:
            self.told_to_leave = True
            self.kill_at = time.monotonic() + patience
            self.signal(signal.SIGTERM)

    def show(self, table: Table) -> None:
        """Tell it how the swarm is, unless it was told just this; as soon as it listens, and then how it is by then."""
        if table is not self._shown and self.link.offer(table):
            self._shown = table

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; one that has ended is not there any more, and nobody else is: it was not buried yet."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, and what its jobs have started: they will run again."""
        self.kill_at = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.signal(signal.SIGKILL)


class Slot:
    """A place for one process.

    Args:
        number: in the swarm, from 0.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.child: Child | None = None
        self.quiet = False
        """Whether its process was told to fetch no more: so is the next one."""
        self.over: State | None = None
        """Why there will be no further process; None while there will."""
        self.due: float | None = 0.0
        """When the next process is to be started, on the monotonic clock; None when not."""
        self.starts = 0
        self._crashes = 0

    @property
    def state(self) -> State:
        """How it is."""
        if self.child is None:
            return self.over or State.WAITING
        if self.child.told_to_leave or self.child.leaves_as is not None:
            return State.STOPPING
        return State.RUNNING if self.child.has_beaten else State.STARTING

    @property
    def is_up(self) -> bool:
        """Whether nothing is to be waited for here: its process works, or there will be none."""
        return self.state in (State.RUNNING, State.RETIRED, State.DRAINED)

    def row(self) -> SlotRow:
        """Tell how it is."""
        return SlotRow(self.number, str(self.state), self.child.pid if self.child else None, self.starts)

    def filled(self, child: Child) -> None:
        """A process was started in it."""
        self.child, self.due = child, None
        self.starts += 1

    def emptied(self, *, expected: bool) -> float:
        """Its process has ended, and another one shall come.

        Args:
            expected: whether it was told to leave; otherwise it counts as a crash.

        Returns:
            Seconds until the next one.
        """
        now = time.monotonic()
        lived = now - self.child.born if self.child else 0.0
        if lived >= HEALTHY:
            self._crashes = 0
        elif not expected:
            self._crashes += 1
        delay = 0.0 if expected else delay_after(self._crashes)
        self.child, self.due = None, now + delay
        return delay

    def finish(self, state: State) -> None:
        """There will be no further process."""
        self.child, self.due, self.over = None, None, state


def delay_after(crashes: int) -> float:
    """Tell how long to wait before the next start (reference, section 27).

    Args:
        crashes: how many processes in a row have ended too early.

    Returns:
        Seconds: 0, 0, 1, 2, 4 … 60.
    """
    return 0.0 if crashes <= 1 else float(min(LONGEST_DELAY, 2 ** min(crashes - 2, 10)))
