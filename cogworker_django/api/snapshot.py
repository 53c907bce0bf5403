"""The whole installation at one look, as the pages show it."""

from __future__ import annotations

from cogworker_django.api.door import opened
from cogworker_django.store.process_reader import ProcessState
from cogworker_django.store.queue_state import QueueState
from cogworker_django.store.snapshot import Snapshot, Wanted
from cogworker_django.store.store import Store

__all__ = ["ProcessState", "QueueState", "Snapshot", "Wanted", "look"]

NOTHING = Wanted()


def look(wanted: Wanted = NOTHING, store: Store | None = None) -> Snapshot:
    """Look at sizes, queues and processes in two round trips.

    Args:
        wanted: what shall be shown beyond them.
        store: where to look; by default the current runtime's.

    Raises:
        RedisUnavailable: Redis is away.
    """
    return opened(store).snapshots.look(wanted)
