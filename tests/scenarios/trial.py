"""One kind of fault, again and again under load: what every such test looks at, and the line of figures it prints."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import psutil

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import Rig
from tests.scenarios.waiting import eventually

RETURN = 15.0
"""Seconds after the end of a fault within which everything is as it should be."""
SPARE = 8
"""Files that a worker opens when first needed: a connection for each of its loops, and its ledger. No leak, as they do
not grow, and one for each fault would be many more."""


@dataclass(frozen=True)
class Resources:
    """What a process occupies of the system."""

    threads: int
    files: int

    @classmethod
    def of(cls, worker: WorkerProcess) -> Resources:
        """What a worker occupies now."""
        process = psutil.Process(worker.pid)
        return cls(process.num_threads(), process.num_fds())


class Trial:
    """Follows workers through faults.

    Args:
        rig: whose workers have been started; they are waited for.
        fault: its name, for the line of figures.
    """

    def __init__(self, rig: Rig, fault: str) -> None:
        self._rig = rig
        self._fault = fault
        for worker in rig.workers:
            worker.started()
        self.rounds = 0
        self.back: list[float] = []
        """Seconds from the end of each fault until a job ran that was pushed after it."""
        self._before = self._settled()

    def returned(self) -> None:
        """The fault has ended: a job that is pushed now runs in time."""
        ended = time.monotonic()
        jid = self._rig.push_surely(jobs.nap)
        eventually(lambda: self._rig.ledger.starts(jid), RETURN, f"work after {self._fault}", self._rig.logs)
        self.back.append(time.monotonic() - ended)
        self.rounds += 1

    def conclude(self, *, bound: int = 0, dropped: Collection[str] = (), counted: bool = True) -> None:
        """Everything runs to its end; nothing is lost, run too often or leaked; prints the figures.

        Args:
            bound: extra runs that the faults explain.
            dropped: jobs that the server may have forgotten.
            counted: whether the counters of the server tell everything.
        """
        rig = self._rig
        rig.until_done(RETURN)
        for worker, before in self._before.items():
            self._unchanged(worker, before)
        rig.verify(spare=bound, dropped=dropped, counted=counted)
        runs = rig.ledger.runs()
        lost = len(set(dropped) - {run.jid for run in runs if run.ended is not None})
        extra = extra_runs(runs).total()
        back = max(self.back, default=0.0)
        print(
            f"| {self._fault} | {len(rig.accepted)} jobs | {self.rounds} rounds | lost {lost} of {len(set(dropped))} "
            f"| extra {extra} | bound {bound} | back after {back:.2f} s |"
        )

    def _settled(self) -> dict[WorkerProcess, Resources]:
        """What the workers occupy once they have worked and all of their threads have begun."""
        self.returned()
        self.back, self.rounds = [], 0
        looks: list[dict[WorkerProcess, Resources]] = [{}]

        def are_settled() -> bool:
            time.sleep(0.1)
            looks.append({worker: Resources.of(worker) for worker in self._rig.workers})
            return looks[-1] == looks[-2] and len({now.threads for now in looks[-1].values()}) == 1

        eventually(are_settled, RETURN, "all threads", lambda: looks[-1])
        return looks[-1]

    def _unchanged(self, worker: WorkerProcess, before: Resources) -> None:
        """Its threads live, and connections that broke were closed."""

        def is_unchanged() -> bool:
            now = Resources.of(worker)
            return now.threads == before.threads and now.files <= before.files + SPARE

        eventually(is_unchanged, 5.0, f"{worker.identity} to be as before, {before}", lambda: Resources.of(worker))
