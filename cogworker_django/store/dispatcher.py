"""The dispatcher of real life: it writes to Redis."""

from __future__ import annotations

from collections.abc import Sequence

from cogworker_django.core.dispatch import Push
from cogworker_django.store.queues import Queues


class RedisDispatcher:
    """Writes jobs to Redis.

    Args:
        queues: the store's pushing side.
    """

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """Write jobs; see `Dispatcher.push`."""
        refused = self._queues.push(pushes)
        return [None if index in refused else push.payload["jid"] for index, push in enumerate(pushes)]
