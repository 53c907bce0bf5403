"""What a worker must bear for long: jobs that misbehave, many jobs, and no growth."""

from __future__ import annotations

import psutil
import pytest

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import Rig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

MIB = 1024 * 1024


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


def test_fifty_thousand_jobs_leave_no_trace_in_the_process(rig: Rig) -> None:
    worker = rig.worker("-c", "10")
    process = psutil.Process(worker.pid)
    _run(rig, worker, 10_000)
    memory, files, threads = process.memory_info().rss, process.num_fds(), process.num_threads()
    _run(rig, worker, 40_000)
    grown = (process.memory_info().rss - memory) / MIB
    print(f"grown by {grown:.2f} MiB over 40,000 jobs; {files} files, {threads} threads")
    assert grown < 5
    # One connection of the pool more or less is chance; a leak would be hundreds.
    assert abs(process.num_fds() - files) <= 2
    assert process.num_threads() == threads
    rig.stop()


def _run(rig: Rig, worker: WorkerProcess, number: int) -> None:
    """Run jobs that do nothing, and wait until the process is at rest."""
    before = rig.count("processed")
    assert None not in jobs.nothing.perform_bulk([()] * number)
    eventually(lambda: rig.count("processed") == before + number, 30, "the jobs to be done", rig.logs)
    eventually(lambda: not rig.in_progress(worker), 5, "nothing in hand")


def test_failing_jobs_keep_no_memory(rig: Rig) -> None:
    """B089, small: the error's frames go with the job."""
    worker = rig.worker("-c", "5")
    process = psutil.Process(worker.pid)
    jobs.fail_large.set(retry=0).perform_bulk([()] * 300)
    eventually(lambda: rig.count("failed") == 300, 20, "the failures", rig.logs)
    memory = process.memory_info().rss
    jobs.fail_large.set(retry=0).perform_bulk([()] * 900)
    eventually(lambda: rig.count("failed") == 1200, 30, "the failures", rig.logs)
    grown = (process.memory_info().rss - memory) / MIB
    print(f"grown by {grown:.2f} MiB over 900 failures")
    assert grown < 5
    rig.stop()


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
