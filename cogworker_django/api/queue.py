"""Queues."""

from __future__ import annotations

from collections.abc import Iterator

from cogworker_django.api.door import opened
from cogworker_django.api.record import JobRecord
from cogworker_django.core.names import check_queue
from cogworker_django.store.queue_reader import QueueReader
from cogworker_django.store.queue_state import INTAKE, QueueState
from cogworker_django.store.store import Store


class QueuedJob(JobRecord):
    """A job that waits on a queue."""

    def __init__(self, value: bytes, name: str, queues: QueueReader) -> None:
        super().__init__(value, name)
        self._name = name
        self._queues = queues

    def delete(self) -> bool:
        """Delete the job; return whether it was still there."""
        return self._queues.remove(self._name, self.value)


class Queue:
    """One queue: iterate over it for its jobs, newest first, in pages of 50.

    Args:
        name: its name.
        store: where to look; by default the current runtime's.

    Raises:
        ValueError: no queue can have this name.
    """

    def __init__(self, name: str = "default", store: Store | None = None) -> None:
        self.name = check_queue(name)
        self._queues = opened(store).queue_reader

    @property
    def size(self) -> int:
        """How many jobs wait."""
        return self._queues.size(self.name)

    @property
    def latency(self) -> float:
        """Seconds that its next job has waited; 0 when there is none or it does not tell."""
        return self._state().latency

    @property
    def paused(self) -> bool:
        """Whether nothing is fetched from it, be it by the pause of all intake."""
        return self._state().paused

    def pause(self) -> bool:
        """Let nothing more be fetched from it; return whether it was not paused before."""
        return self._queues.pause(self.name)

    def resume(self) -> bool:
        """Let its jobs be fetched again; return whether it was paused."""
        return self._queues.resume(self.name)

    def clear(self) -> int:
        """Delete the jobs it has now, in steps; return how many."""
        return self._queues.clear(self.name)

    def delete(self, jid: str) -> bool:
        """Delete one job; return whether it was found."""
        return self._queues.delete(self.name, jid)

    def __iter__(self) -> Iterator[QueuedJob]:
        """Go through the jobs; one that stays is never passed over, but may come twice while others move."""
        for raw in self._queues.walk(self.name):
            yield QueuedJob(raw, self.name, self._queues)

    def page(self, start: int, stop: int) -> list[QueuedJob]:
        """Read the jobs from one position to another, both included, counted from 0 at the newest."""
        return [QueuedJob(raw, self.name, self._queues) for raw in self._queues.page(self.name, start, stop)]

    def _state(self) -> QueueState:
        return self._queues.states([self.name])[0]

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"


class QueueSet:
    """All queues: those that have had a job, those that a living process reads, and those that are paused: a pause
    must not be forgotten because nothing waits behind it. Iterate for their states.

    Args:
        store: where to look; by default the current runtime's.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = opened(store)

    def names(self) -> list[str]:
        """Return their names, sorted."""
        names = set(self._store.queue_reader.names()) | self._store.queue_reader.paused() - {INTAKE}
        for process in self._store.process_reader.living():
            names.update(process.queues)
        return sorted(names)

    def __iter__(self) -> Iterator[QueueState]:
        return iter(self._store.queue_reader.states(self.names()))
