"""Restarts the processes of a swarm one after the other, so that there is always somebody who works."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from cogworker_django.swarm.slot import Child, Slot

logger = logging.getLogger("cogworker")


class Rollout:
    """The slots whose processes are to be replaced, and how far it has come.

    A process is told to leave when all others work; the next one, when its replacement has beaten.

    Args:
        slots: of the swarm.
        patience: seconds that a process has to leave.
    """

    def __init__(self, slots: Sequence[Slot], patience: float) -> None:
        self._slots = slots
        self._patience = patience
        self._waiting: deque[tuple[Slot, Child]] = deque()
        self._current: Slot | None = None
        self._old: Child | None = None

    @property
    def goes_on(self) -> bool:
        """Whether it is not done yet."""
        return bool(self._waiting) or self._current is not None

    def add(self, slot: Slot) -> bool:
        """Have the process of a slot replaced; False when it is on the list already, or there is none."""
        if slot.child is None or slot is self._current or (slot, slot.child) in self._waiting:
            return False
        self._waiting.append((slot, slot.child))
        return True

    def step(self) -> None:
        """Go on as far as things are."""
        if self._current is not None and self._is_replaced(self._current):
            self._current = self._old = None
        # Not below: a process that died by itself meanwhile is replaced first.
        if self._current is None and self._waiting and all(slot.is_up for slot in self._slots):
            self._begin(*self._waiting.popleft())

    def died(self, slot: Slot, child: Child) -> None:
        """A process has ended that nobody had told to: if it was a replacement that never worked, all others stay."""
        if slot is self._current and child is not self._old and not child.has_beaten:
            logger.error(
                "swarm: the new process of slot %d died before its first beat; the restart ends here, and %d processes "
                "stay as they are",
                slot.number,
                len(self._waiting),
            )
            self.clear()

    def clear(self) -> None:
        """Forget what is not done."""
        self._waiting.clear()
        self._current = self._old = None

    def _begin(self, slot: Slot, child: Child) -> None:
        # One that has ended by itself is replaced already.
        if slot.child is child:
            self._current, self._old = slot, child
            child.stop(self._patience)

    def _is_replaced(self, slot: Slot) -> bool:
        return slot.over is not None or (slot.child not in (None, self._old) and slot.is_up)
