"""The switch that keeps all processes from fetching."""

from __future__ import annotations

from cogworker_django.api.door import opened
from cogworker_django.store.queue_state import INTAKE
from cogworker_django.store.store import Store


class Intake:
    """All queues at once: a flag in Redis, which processes started later honour too (Engine 3.10).

    Args:
        store: where to look; by default the current runtime's.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._queues = opened(store).queue_reader

    @property
    def paused(self) -> bool:
        """Whether nothing is fetched."""
        return INTAKE in self._queues.paused()

    def pause(self) -> bool:
        """Let nothing more be fetched; what runs goes on. Return whether it was not paused before."""
        return self._queues.pause(INTAKE)

    def resume(self) -> bool:
        """Let jobs be fetched again, but for queues paused on their own. Return whether it was paused."""
        return self._queues.resume(INTAKE)
