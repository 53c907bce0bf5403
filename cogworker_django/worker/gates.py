"""Where threads without work wait, each on a gate of its own, so that exactly one can be woken."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


class Gate:
    """A gate that one thread waits at. Opening it before the wait lets the wait pass at once."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout: float = -1) -> bool:
        """Waits until it is opened, or `timeout` seconds at most; whether it was opened."""
        return self._lock.acquire(timeout=timeout)

    def open(self) -> None:
        """Lets the waiting thread go on, or the next one that comes; opening an open gate changes nothing."""
        try:
            self._lock.release()
        except RuntimeError:
            return


class WaitingRoom:
    """The gates of the threads that have nothing to do.

    A thread enters, looks once more whether there is work, and only then waits: whoever brings work puts it there
    before it wakes somebody, so one of the two always sees the other.
    """

    def __init__(self) -> None:
        self._gates: deque[Gate] = deque()

    def __len__(self) -> int:
        return len(self._gates)

    def enter(self, gate: Gate) -> None:
        """Announces that a thread is about to wait."""
        self._gates.append(gate)

    def leave(self, gate: Gate) -> None:
        """Takes the announcement back; when somebody was faster, passes the wake-up on that would be lost."""
        try:
            self._gates.remove(gate)
        except ValueError:
            gate.wait(0)
            self.wake_one()

    def wake_one(self) -> None:
        """Wakes the thread that began to wait last: its memory is still warm, and others stay asleep."""
        try:
            gate = self._gates.pop()
        except IndexError:
            return
        gate.open()

    def wake_all(self) -> None:
        """Wakes all."""
        while self._gates:
            self.wake_one()


class Alarm:
    """Calls the keeper when it sleeps; costs next to nothing while it is awake."""

    __slots__ = ("_gate", "_sleeping")

    def __init__(self) -> None:
        self._gate = Gate()
        self._sleeping = False

    def ring(self) -> None:
        """Something has to be seen to."""
        if self._sleeping:
            self._gate.open()

    def sleep(self, timeout: float, needed: Callable[[], bool]) -> None:
        """Sleeps until it rings, `timeout` seconds at most, unless `needed` says that there is something already."""
        self._sleeping = True
        if not needed():
            self._gate.wait(timeout)
        self._sleeping = False
