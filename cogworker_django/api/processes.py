"""Worker processes, and what they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cogworker_django.api.door import opened
from cogworker_django.core import times
from cogworker_django.core.payload import Payload
from cogworker_django.store.process_reader import ProcessReader, ProcessState, Signal
from cogworker_django.store.store import Store


class Process(Mapping[str, Any]):
    """A living worker process, as of its last beat.

    A mapping of `identity`, `busy`, `quiet`, `beat_at` (epoch seconds on Redis's clock) and what the process
    tells about itself: `hostname`, `pid`, `concurrency`, `queues`, `started_at`, `rss_kb`, `version`, `tag`,
    `fetch`; for one of a swarm also `swarm`: the `parent`'s pid, its own `slot`, and all `slots` as the parent has
    last told (`number`, `state`, `pid`, `starts`).
    """

    def __init__(self, state: ProcessState, reader: ProcessReader) -> None:
        self.identity = state.identity
        self._reader = reader
        self._fields = {"busy": 0, "quiet": False, **state.info}
        self._fields |= {"identity": state.identity, "beat_at": state.beat_at}

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def quiet(self) -> None:
        """Tell it to fetch no more. Commands wait in Redis until the process has read them."""
        self._reader.signal(self.identity, Signal.QUIET)

    def resume(self) -> None:
        """Tell it to fetch again."""
        self._reader.signal(self.identity, Signal.RESUME)

    def stop(self) -> None:
        """Tell it to finish what runs and to leave, as at a TERM."""
        self._reader.signal(self.identity, Signal.STOP)

    def __repr__(self) -> str:
        return f"<Process {self.identity}>"


class ProcessSet:
    """All living worker processes.

    Args:
        store: where to look; by default the current runtime's.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._reader = opened(store).process_reader

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._reader.living())

    def __iter__(self) -> Iterator[Process]:
        for state in self._reader.living():
            yield Process(state, self._reader)

    def find(self, identity: str) -> Process | None:
        """Return one process by its identity; None when it does not live."""
        return next((process for process in self if process.identity == identity), None)


def unsettled_of(identities: Sequence[str], store: Store | None = None) -> dict[str, int]:
    """Count the jobs that processes hold and have not settled, also those of processes that are gone.

    Args:
        identities: of the processes.
        store: where to look; by default the current runtime's.
    """
    return opened(store).process_reader.unsettled(identities)


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """One job that runs."""

    process_id: str
    """The identity of the process."""
    thread_id: str
    queue: str
    run_at: float
    """Epoch seconds when it started; 0 when that cannot be read."""
    job: Payload
    """Its payload, without arguments when they are large; empty when it cannot be read."""


class WorkSet:
    """What all living processes run, as of their last beats: iterate for `(identity, thread_id, work)`.

    Args:
        store: where to look; by default the current runtime's.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._reader = opened(store).process_reader

    @property
    def size(self) -> int:
        """How many jobs run."""
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[tuple[str, str, Work]]:
        identities = [state.identity for state in self._reader.living()]
        for identity, running in self._reader.work(identities):
            for fields in running:
                work = _work(identity, fields)
                yield identity, work.thread_id, work


def _work(identity: str, fields: dict[str, Any]) -> Work:
    job = fields.get("payload")
    return Work(
        process_id=identity,
        thread_id=str(fields.get("thread", "")),
        queue=str(fields.get("queue", "")),
        run_at=times.told(fields.get("run_at")) or 0.0,
        job=job if isinstance(job, dict) else {},
    )
