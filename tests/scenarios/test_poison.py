"""T3: jobs that take their whole process along, and one that takes all its memory."""

from __future__ import annotations

import psutil
import pytest

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.crew import Crew
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.scale import size
from tests.scenarios.trial import Resources
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

POISONS = [jobs.exit_process, jobs.abort_process, jobs.kill_process]
KINDS, ROUNDS = size(2, 3), size(1, 7)
FUSE = 0.3
"""Seconds that a poisonous job runs: what runs beside it has ended by then, however busy the machine is."""
INNOCENTS = 200
"""Beside each poisonous job."""
RECOVERIES = size(1, 3)
"""Of one job, before it is buried."""
ROOM = 64 * 1024 * 1024
"""Bytes that a process with a limit may still grow by."""


def test_jobs_that_kill_their_process_are_buried_and_no_other_is(start_rig: StartRig) -> None:
    rig = start_rig(ORPHAN_THRESHOLD=1.0, MAX_ORPHANINGS=RECOVERIES, CONCURRENCY=3)
    crew = Crew(rig, 2)
    killers: list[str] = []

    def all_are_buried() -> bool:
        crew.tend()
        return rig.snapshot().at("dead") >= set(killers)

    for poison in rig.random.sample(POISONS, KINDS) * ROUNDS:
        # One after the other: what happens to lie beside two of them would rightly be counted twice.
        killers.append(rig.push_one(poison, FUSE))
        rig.push(jobs.nap, [(rig.random.random() * 0.005,) for _ in range(INNOCENTS)])
        eventually(all_are_buried, 10 * (1 + RECOVERIES), "the burial", rig.logs)
        rig.until_done(20)
    crew.complete()
    dead = rig.filed("dead")
    assert {entry["error_class"] for entry in dead} == {"ProcessDied"}
    assert {entry["jid"] for entry in dead} == set(killers)
    assert all(rig.ledger.starts(jid) <= RECOVERIES + 1 for jid in killers)
    assert not list(rig.redis.scan_iter(f"{PREFIX}orphanings:*")), "who has finished, or is dead, is counted no more"
    rig.verify(buried=len(killers), left=len(killers))
    runs = rig.ledger.runs()
    extra = extra_runs([run for run in runs if run.jid not in killers]).total()
    print(f"{len(rig.accepted)} jobs, {len(killers)} of them poison: {crew.deaths} deaths, {extra} others ran again")
    assert extra <= 2 * crew.deaths, "only what ran on the two other threads"


def test_a_job_that_takes_all_memory_fails_and_its_process_works_on(rig: Rig) -> None:
    """A process whose threads are refused memory in the middle of whatever they do."""
    worker = rig.worker()
    rig.push(jobs.nap, [()] * 50)
    rig.until_done(10)
    process, before = psutil.Process(worker.pid), Resources.of(worker)
    process.rlimit(psutil.RLIMIT_AS, (process.memory_info().vms + ROOM, psutil.RLIM_INFINITY))
    balloons = size(3, 20)
    for _ in range(balloons):
        rig.push_one(jobs.balloon, retry=0)
        rig.push(jobs.nap, [(0.001,)] * INNOCENTS)
    rig.until_done(30)
    process.rlimit(psutil.RLIMIT_AS, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
    later = rig.push(jobs.nap, [(0.001,)] * INNOCENTS)
    rig.until_done(10)
    assert not worker.has_ended
    assert set(later) <= {run.jid for run in rig.ledger.runs() if run.ended}
    assert Resources.of(worker).threads == before.threads
    print(f"{balloons} balloons among {len(rig.accepted)} jobs: {rig.count('failed')} failures")
    assert [entry["error_class"] for entry in rig.filed("dead")] == ["MemoryError"] * balloons
    rig.verify(left=rig.count("failed"))
