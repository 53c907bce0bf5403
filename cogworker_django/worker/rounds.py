"""What a process does about once a minute besides its jobs, in this order: what is damaged is out of the way first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cogworker_django.store.store import Store
from cogworker_django.worker.filer import Filer
from cogworker_django.worker.key_guard import KeyGuard
from cogworker_django.worker.rescuer import Rescuer
from cogworker_django.worker.upkeep import Task

SHOWN_FOR = 3
"""Rounds after which a periodic entry that no process shows any more is taken off."""


def rounds(
    store: Store,
    queues: Sequence[str],
    entries: Mapping[str, Any],
    rescuer: Rescuer,
    filer: Filer,
    suspect: Callable[[], object],
    *,
    interval: float,
) -> list[Task]:
    """Name the tasks.

    Args:
        store: Redis.
        queues: of this process.
        entries: what is shown of its periodic entries, by their names.
        rescuer: brings dead processes' jobs back.
        filer: files what others could not.
        suspect: has the jobs in hand compared with those in Redis.
        interval: seconds between two rounds.
    """

    def key_moved(key: str) -> None:
        if key == store.keys.beats:
            rescuer.lost_registry()

    def trim_history() -> None:
        if store.history.max_entries:
            store.history.trim()

    def reconcile() -> None:
        suspect()

    return [
        Task("key guard", KeyGuard(store.guard, list(queues), key_moved).look),
        Task("recovery", rescuer.round),
        Task("filing", filer.look),
        Task("reconciling", reconcile),
        Task("trimming the history", trim_history),
        # Also when there are none: those that were there before go by it.
        Task("showing periodic entries", lambda: store.periodic.publish(entries, SHOWN_FOR * interval)),
        Task("listing queues", lambda: store.processes.list_queues(list(queues))),
    ]
