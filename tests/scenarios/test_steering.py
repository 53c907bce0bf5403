"""Real processes, seen and steered through what the package offers for it (contract 7)."""

from __future__ import annotations

import pytest

from cogworker_django import ProcessSet, Queue, Stats, WorkSet
from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow


def test_a_process_is_seen_with_its_work_goes_quiet_and_on_and_is_stopped_from_code(start_rig: StartRig) -> None:
    """Reference I1 to I4, P6, E1: the round trip by way of Redis, both ways."""
    rig = start_rig(ORPHAN_THRESHOLD=1.5)
    worker = rig.worker("-c", "3", "-q", "default,2", "-q", "low", "--tag", "here")
    long = rig.push_one(jobs.nap, 2.5, queue="low")
    rig.until_running(long)

    (process,) = ProcessSet()
    assert (process["identity"], process["pid"], process["tag"]) == (worker.identity, worker.pid, "here")
    assert (process["concurrency"], process["queues"]) == (3, [["default", 2], ["low", 1]])
    eventually(lambda: WorkSet().size == 1, 3, "the running job to be shown", rig.logs)
    ((identity, thread, work),) = WorkSet()
    assert identity == worker.identity
    assert thread.startswith("cogworker-")
    assert (work.queue, work.job["jid"], work.job["class"]) == ("low", long, "nap")
    eventually(lambda: [each["busy"] for each in ProcessSet()] == [1], 3, "it to be shown as busy", rig.logs)

    process.quiet()
    eventually(lambda: [each["quiet"] for each in ProcessSet()] == [True], 3, "it to be quiet", rig.logs)
    waiting = rig.push_one(jobs.nap)
    eventually(lambda: rig.ledger.runs()[0].ended, 5, "the running job to end", rig.logs)
    assert [queued.jid for queued in Queue("default")] == [waiting]
    assert Queue("default").latency > 0
    eventually(lambda: WorkSet().size == 0, 3, "the work to be gone", rig.logs)

    process.resume()
    eventually(lambda: [each["quiet"] for each in ProcessSet()] == [False], 3, "it to go on", rig.logs)
    eventually(lambda: Stats().processed == 2, 3, "the waiting job to run", rig.logs)

    process.stop()
    assert worker.exit_status(5) == 0
    assert ProcessSet().size == 0
    rig.verify()


def test_a_paused_queue_keeps_its_jobs_through_a_restart_and_is_served_when_resumed(
    start_rig: StartRig,
) -> None:
    """Reference B2 to B5, I2: its sibling is served meanwhile. Nobody waits at the bell of a paused queue, so that a
    resume is noticed by the next look (`FETCH_IDLE_MAX_INTERVAL`).
    """
    rig = start_rig()
    assert Queue("slow").pause()
    kept = rig.push_one(jobs.nap, queue="slow")
    rig.stop(rig.worker("-q", "default", "-q", "slow"))
    rig.worker("-q", "default", "-q", "slow")
    rig.push(jobs.nap, [()] * 20)
    eventually(lambda: Stats().processed == 20, 5, "the other queue to be served", rig.logs)
    assert Queue("slow").paused
    assert [queued.jid for queued in Queue("slow")] == [kept]
    assert Queue("slow").resume()
    assert eventually(lambda: rig.ledger.starts(kept), 5, "the kept job to run", rig.logs) < 1.0 + 0.5
    rig.until_done(5)
    rig.verify()
