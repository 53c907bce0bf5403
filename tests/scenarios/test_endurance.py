"""What a worker must bear for long: jobs that misbehave, many jobs, and no growth."""

from __future__ import annotations

from statistics import linear_regression
from typing import cast

import psutil
import pytest

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import Rig
from tests.scenarios.scale import size
from tests.scenarios.trial import Resources
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
CHUNKS, CHUNK = size(4, 10), size(10_000, 100_000)
FAILURES = size(1_200, 100_000)
PATIENCE = size(30, 1800)


def test_a_job_that_calls_sys_exit_fails_and_nothing_else(rig: Rig) -> None:
    """B082."""
    worker = rig.worker("-c", "1")
    left = rig.push_one(jobs.leave)
    rig.push(jobs.nap, [()] * 20)
    rig.until_done(5)
    (entry,) = rig.filed("retry")
    assert (entry["jid"], entry["error_class"], entry["retry_count"]) == (left, "SystemExit", 1)
    assert rig.count("processed") == 20
    assert not worker.has_ended
    rig.verify(left=1)
    assert {run.thread for run in rig.ledger.runs()} == {"cogworker-1"}


def test_jobs_leave_no_trace_in_the_process(start_rig: StartRig) -> None:
    """Case B139; what is kept of them for people has limits that are reached at once here."""
    rig = start_rig(STATUS={"EXPIRATION": 1}, HISTORY={"MAX_ENTRIES": 100})
    worker = rig.worker("-c", "10")
    _run(rig, worker)
    before, marks = Resources.of(worker), [_marks(rig, worker)]
    for _ in range(CHUNKS):
        _run(rig, worker)
        marks.append(_marks(rig, worker))
    memory, connections, server = zip(*marks, strict=True)
    slope = linear_regression(range(len(memory)), memory).slope / MIB
    after = Resources.of(worker)
    print(f"{CHUNKS} times {CHUNK} jobs: memory grew by {slope:.2f} MiB with each, {before} before, {after} after;")
    print(f"connections {connections}, the server's memory {server}")
    assert slope < 1
    # One connection of the pool more or less is chance; a leak would be hundreds.
    assert abs(after.files - before.files) <= 2
    assert after.threads == before.threads
    assert max(connections) - min(connections) <= 2
    assert server[-1] - server[0] < MIB
    rig.stop()


def _run(rig: Rig, worker: WorkerProcess) -> None:
    """Run jobs that do nothing, and wait until the process is at rest."""
    before = rig.count("processed")
    assert None not in jobs.nothing.perform_bulk([()] * CHUNK)
    eventually(lambda: rig.count("processed") == before + CHUNK, PATIENCE, "the jobs to be done", rig.logs)
    eventually(lambda: not rig.in_progress(worker), 5, "nothing in hand")


def _marks(rig: Rig, worker: WorkerProcess) -> tuple[int, int, int]:
    """The process's memory, the number of connections to the server, and the server's memory."""
    told = cast(dict[str, int], rig.redis.info())
    return psutil.Process(worker.pid).memory_info().rss, told["connected_clients"], told["used_memory"]


def test_failing_jobs_keep_no_memory(rig: Rig) -> None:
    """B089: the error's frames go with the job."""
    worker = rig.worker("-c", "5")
    process = psutil.Process(worker.pid)
    _fail(rig, FAILURES // 3)
    memory = process.memory_info().rss
    _fail(rig, FAILURES - FAILURES // 3)
    grown = process.memory_info().rss - memory
    print(f"{FAILURES} failures: {memory / MIB:.1f} MiB after a third, grown by {grown / MIB:.2f} MiB")
    assert grown < memory / 10
    rig.stop()


def _fail(rig: Rig, number: int) -> None:
    """Run jobs that fail and die."""
    before = rig.count("failed")
    jobs.fail_large.set(retry=0).perform_bulk([()] * number)
    eventually(lambda: rig.count("failed") == before + number, PATIENCE, "the failures", rig.logs)


def test_three_processes_share_mixed_work_exactly_once(rig: Rig) -> None:
    """Short and long jobs, failures and delays together: no fault, so not one extra run."""
    for _ in range(3):
        rig.worker("-q", "default,3", "-q", "other")
    rig.push(jobs.nap, [(rig.random.choice([0.0, 0.0, 0.001, 0.02, 0.1]),) for _ in range(1000)])
    rig.push(jobs.nap, [(rig.random.random() * 0.01,) for _ in range(1000)], queue="other")
    rig.push(jobs.fail_after, [(rig.random.random() * 0.01,) for _ in range(200)], retry=0)
    for _ in range(200):
        soon = jobs.nap.perform_in(rig.random.random() * 2)
        assert soon is not None
        rig.accepted.append(soon)
    rig.until_done(30)
    rig.verify(left=200)
    assert not extra_runs(rig.ledger.runs())
