"""The one place where an idle process waits: at the bells of its queues, of the schedule, and for commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from cogworker_django.core.errors import CogworkerError
from cogworker_django.store.bells import Bells
from cogworker_django.store.keys import Keys

BLOCK = 5.0
"""Seconds of one blocking call; a dead connection is noticed within this and the socket's timeout."""
WAKE = b"wake"
"""A token in the process's own list of commands that only ends the wait."""


class Listener:
    """Lets one thread at a time wait for something to happen.

    Args:
        bells: the store's bells.
        keys: the names of the keys.
        identity: of this process.
        queues: the names of its queues.
        on_command: given each remote command.
        on_schedule: called when a new earliest entry was scheduled.
    """

    def __init__(
        self,
        bells: Bells,
        keys: Keys,
        identity: str,
        queues: Sequence[str],
        *,
        on_command: Callable[[str], None],
        on_schedule: Callable[[], None],
    ) -> None:
        self.busy = False
        """Whether a thread waits."""
        self.quiet = False
        """A quiet process waits for commands only."""
        self.paused: frozenset[str] = frozenset()
        """Queues known to be paused: their bells are not waited at."""
        self._bells = bells
        self._queues = {name: keys.bell(name) for name in queues}
        self._commands = keys.signals(identity)
        self._schedule = keys.schedule_bell
        self._on_command = on_command
        self._on_schedule = on_schedule
        self._role = threading.Lock()

    def enter(self) -> bool:
        """Takes the role of the waiting thread; False when another has it."""
        if not self._role.acquire(blocking=False):
            return False
        self.busy = True
        return True

    def leave(self) -> None:
        """Gives the role up."""
        self.busy = False
        self._role.release()

    def listen(self) -> bool:
        """Waits once, a few seconds at most.

        Returns:
            Whether a queue's bell rang.

        Raises:
            RedisUnavailable: the connection broke.
        """
        rung = self._bells.wait(self._keys(), BLOCK)
        if rung is None:
            return False
        key, token = rung
        if key == self._commands:
            if token != WAKE:
                self._on_command(token.decode(errors="replace"))
            return False
        if self.quiet:
            self._bells.put_back(key, token)
            return False
        if key == self._schedule:
            self._on_schedule()
            return False
        return True

    def sees_jobs(self) -> bool:
        """Whether a look into the queues is worth a trip. Where a queue is paused only a trip can tell whether it
        still is, so then the answer is yes.
        """
        return bool(self.paused) or self._bells.any_jobs(list(self._queues))

    def wake(self) -> None:
        """Ends the wait of the thread that waits, so that it notices a change at once."""
        if not self.busy:
            return
        try:
            self._bells.put_back(self._commands, WAKE)
        except CogworkerError:
            # Redis is away: then the wait ends by itself, and the thread is not waited for.
            return

    def _keys(self) -> list[str]:
        if self.quiet:
            return [self._commands]
        bells = [bell for name, bell in self._queues.items() if name not in self.paused]
        return [self._commands, *bells, self._schedule]
