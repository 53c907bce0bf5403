"""Where every job must be: the store in plain Python, without a word about how Redis does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

QUEUES = ("default", "low")
PAST, FUTURE = 1_000_000.0, 9_000_000_000.0
"""Epoch seconds that are over, and that no test lives to see."""
CONCURRENCY = 10
MOST = 1
"""Recoveries of one job before it is buried."""


@dataclass(kw_only=True)
class Process:
    """What one process holds."""

    held: dict[int, tuple[str, str]] = field(default_factory=dict)
    """For each token's number its queue and its job."""
    alive: bool = True
    next: int = 1

    def newest_first(self, numbers: Sequence[int]) -> list[int]:
        """Numbers that it still holds, in the order in which they go back to the front of their queues."""
        return sorted((number for number in numbers if number in self.held), reverse=True)


@dataclass(kw_only=True)
class Books:
    """Where each job is, and what was counted."""

    queues: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in QUEUES})
    """The next to run is the last one."""
    sets: dict[str, dict[str, float]] = field(default_factory=lambda: {"schedule": {}, "retry": {}, "dead": {}})
    """For each job its score."""
    unsettled: list[tuple[str, str, float]] = field(default_factory=list)
    """Job, set and score of what was handed over."""
    processes: dict[str, Process] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)
    """Queues in whose place another value lies."""
    orphanings: Counter[str] = field(default_factory=Counter)
    processed: int = 0
    failed: int = 0

    def fetch(self, process: Process, wanted: int, names: Sequence[str]) -> list[str]:
        """Takes jobs from the queues in this order."""
        process.alive = True
        first, process.next = process.next, process.next + wanted
        taken: list[str] = []
        for name in names:
            while self._serves(name) and self.queues[name] and len(taken) < wanted:
                job = self.queues[name].pop()
                process.held[first + len(taken)] = (name, job)
                taken.append(job)
        return taken

    def settle(self, process: Process, number: int, kind: str) -> str | None:
        """A verdict: the job, or None when it is no longer this process's."""
        process.alive = True
        if number not in process.held:
            return None
        _, job = process.held.pop(number)
        self.processed += kind == "processed"
        self.failed += kind == "failed"
        del self.orphanings[job]
        return job

    def put_back(self, process: Process, numbers: Sequence[int]) -> None:
        """Jobs go to the front of their queues; those of a damaged queue stay."""
        for number in process.newest_first(numbers):
            queue, job = process.held[number]
            if queue not in self.damaged:
                self.queues[queue].append(job)
                del process.held[number]

    def recover(self, process: Process) -> list[int]:
        """Takes a dead process's jobs back; the numbers of those that were orphaned too often."""
        running = set(sorted(process.held)[:CONCURRENCY])
        condemned = [n for n in process.held if n in running and self.orphanings[process.held[n][1]] >= MOST]
        before = dict(process.held)
        self.put_back(process, [number for number in process.held if number not in condemned])
        for number in running & (before.keys() - process.held.keys()):
            self.orphanings[before[number][1]] += 1
        return sorted(condemned, reverse=True)

    def enqueue(self, name: str, job: str, queue: str) -> bool:
        """An entry of a set goes to its queue, unless that is damaged; whether it did."""
        if queue in self.damaged or job not in self.sets[name]:
            return False
        del self.sets[name][job]
        self.queues[queue].insert(0, job)
        return True

    def due(self, name: str) -> list[str]:
        """The entries of a set that are due, in their order."""
        return sorted(
            (job for job, at in self.sets[name].items() if at < FUTURE), key=lambda j: (self.sets[name][j], j)
        )

    def _serves(self, name: str) -> bool:
        return name not in self.damaged and not self.paused & {name, "*"}
