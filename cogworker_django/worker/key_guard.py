"""Keys that a hand or a fault has overwritten with another type: out of the way once a minute (reference, 22)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from cogworker_django.core.errors import CogworkerError, RedisUnavailable
from cogworker_django.core.text import one_line
from cogworker_django.store.guard import Guard

logger = logging.getLogger("cogworker")


class KeyGuard:
    """Looks at all keys of ours, and carries on with fresh ones in the place of damaged ones.

    Args:
        guard: the store's side of it.
        queues: the names of this process's queues.
        on_moved: told the name of each key that was moved away.
    """

    def __init__(self, guard: Guard, queues: Sequence[str], on_moved: Callable[[str], None]) -> None:
        self._guard = guard
        self._queues = queues
        self._on_moved = on_moved

    def look(self) -> None:
        """One look at all of them.

        Raises:
            RedisUnavailable: the rest is still to be looked at.
        """
        if self.mend(self._guard.damaged(self._queues)):
            self._guard.trim_copies()

    def mend(self, damaged: Mapping[str, str]) -> bool:
        """Moves keys away that are still damaged, each by itself.

        Args:
            damaged: the keys, and the type that each should have.

        Returns:
            Whether one of them was moved.

        Raises:
            RedisUnavailable: the rest is still to be moved.
        """
        return sum(self._mend(key, expected) for key, expected in damaged.items()) > 0

    def _mend(self, key: str, expected: str) -> bool:
        try:
            damage = self._guard.quarantine(key, expected)
        except RedisUnavailable:
            raise
        except CogworkerError as error:
            logger.error("the damaged key %s could not be moved away: %s", one_line(key, 300), error)
            return False
        if damage is None:
            return False
        self._on_moved(key)
        words = "key %s was a %s instead of a %s: it was moved to %s, where it is kept for 30 days"
        logger.error(words, one_line(key, 300), damage.actual, expected, one_line(damage.copy, 400))
        return True
