"""T4 and T5: stops under load, and signals in any number, mixture and moment: always one clean stop."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

import psutil
import pytest

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.scale import size
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

RESTARTS, PAUSE = size(5, 30), size(1, 3)
"""How many, and the seconds between two of them, on average."""
BATCH = 600
DRAIN = 1.0
"""Seconds that a stop waits for jobs."""
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
OTHERS = (signal.SIGTSTP, signal.SIGTTIN)
ROUNDS = size(3, 10)
NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc")
CONTAINER_PATIENCE = 10.0
"""Seconds that `docker stop` waits before it kills."""


def stopped_once(rig: Rig, worker: WorkerProcess) -> None:
    """It has ended by itself, once, and has left nothing."""
    assert worker.exit_status() == 0, worker.text
    assert worker.text.count("stopping: ") == 1, worker.text
    assert worker.text.count(" stopped\n") == 1, worker.text
    assert not rig.redis.exists(f"{PREFIX}inprogress:{worker.identity}", f"{PREFIX}process:{worker.identity}")
    worker.no_traceback()


def test_restarts_in_turn_repeat_only_what_takes_longer_than_a_stop_waits(start_rig: StartRig) -> None:
    """B072, T4."""
    rig = start_rig(SHUTDOWN_TIMEOUT=DRAIN)
    pair = [rig.worker(wait=False), rig.worker(wait=False)]
    long: list[str] = []
    slowest = 0.0
    for turn in range(RESTARTS):
        pair[turn % 2].started()
        while rig.queued() < BATCH:
            long += rig.push(jobs.nap, [(DRAIN + rig.random.random(),)] * (BATCH // 100))
            rig.push(jobs.nap, [(rig.random.random() * 0.02,) for _ in range(BATCH)])
        time.sleep(rig.random.random() * 2 * PAUSE)
        began = time.monotonic()
        pair[turn % 2].send(signal.SIGTERM)
        stopped_once(rig, pair[turn % 2])
        slowest = max(slowest, time.monotonic() - began)
        pair[turn % 2] = rig.worker(wait=False)
    rig.until_done(40)
    for worker in pair:
        worker.started()
    extra = extra_runs(rig.ledger.runs())
    rig.at_risk.update(extra)
    rig.verify()
    print(f"{len(rig.accepted)} jobs, {RESTARTS} restarts: {extra.total()} ran again, slowest stop {slowest:.2f} s")
    assert extra.keys() <= set(long)
    assert slowest < DRAIN + 5


def test_signals_in_any_mixture_end_in_one_clean_stop(rig: Rig) -> None:
    workers = [rig.worker("-q", str(number), wait=False) for number in range(ROUNDS)]
    for number, worker in enumerate(workers):
        worker.started()
        rig.until_running(*rig.push(jobs.nap, [(0.3,)] * 3, queue=str(number)))
        storm = [*rig.random.choices(STOPS + OTHERS, k=8), rig.random.choice(STOPS)]
        print(number, [each.name for each in storm])
        for each in storm:
            worker.send(each)
            time.sleep(rig.random.random() * 0.05)
    for worker in workers:
        stopped_once(rig, worker)
    # A second INT means at once: what ran then is back on its queue.
    back = sum(run.ended is None for run in rig.ledger.runs())
    rig.verify(left=back)


def test_any_number_of_terms_until_the_very_end_is_one_stop(rig: Rig) -> None:
    workers = [rig.worker(wait=False) for _ in range(ROUNDS)]
    for worker in workers:
        worker.started()
    jids = rig.push(jobs.nap, [(0.5,)] * ROUNDS)
    rig.until_running(*jids)

    def all_have_ended() -> bool:
        for worker in workers:
            worker.send(signal.SIGTERM)
        return all(worker.has_ended for worker in workers)

    eventually(all_have_ended, 10, "the stop", rig.logs)
    for worker in workers:
        stopped_once(rig, worker)
    rig.verify()
    assert not extra_runs(rig.ledger.runs())


def test_below_nohup_a_hangup_is_ignored(rig: Rig) -> None:
    worker = rig.worker(under=("nohup",))
    worker.send(signal.SIGHUP)
    rig.push(jobs.nap, [(0.1,)] * 20)
    rig.until_done(5)
    assert not worker.has_ended
    worker.send(signal.SIGTERM)
    stopped_once(rig, worker)
    rig.verify()


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_to_the_whole_group_ends_programs_of_jobs_too_and_nothing_is_lost(
    rig: Rig, number: signal.Signals
) -> None:
    """As from a terminal: the program that a job has called ends first, so the job fails, and is filed in time."""
    worker = rig.worker()
    jid = rig.push_one(jobs.call_program, "sleep", "30")
    rig.until_running(jid)
    child = eventually_child(worker)
    os.killpg(worker.pid, number)
    stopped_once(rig, worker)
    assert not psutil.pid_exists(child.pid)
    assert [(entry["jid"], entry["error_class"]) for entry in rig.filed("retry")] == [(jid, "CalledProcessError")]
    rig.verify(left=1)


def eventually_child(parent: WorkerProcess) -> psutil.Process:
    """The one process that another has started."""
    found: Callable[[], list[psutil.Process]] = psutil.Process(parent.pid).children
    eventually(found, 5, "a child", lambda: parent.text)
    (child,) = found()
    return child


def can_be_first() -> bool:
    """Whether this machine lets us run a process as number 1 of a namespace: Linux, and the rights to it."""
    return (
        shutil.which(NAMESPACE[0]) is not None
        and not subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode
    )


@pytest.mark.skipif(not can_be_first(), reason="no PID namespaces here: not Linux, or no right to make them")
def test_as_the_first_process_of_a_container_it_stops_like_any_other(rig: Rig) -> None:
    """B074."""
    outside = rig.worker(under=NAMESPACE)
    assert "pid=1 INFO: swarm: started process " in outside.text, "it has a parent, which buries orphans"
    short = rig.push(jobs.nap, [(2.0,)] * 3)
    rig.until_running(*short)
    began = time.monotonic()
    eventually_child(outside).send_signal(signal.SIGTERM)
    assert outside.exit_status() == 0, outside.text
    assert outside.text.count("stopping: ") == 1, outside.text
    outside.no_traceback()
    assert time.monotonic() - began < CONTAINER_PATIENCE
    assert {run.jid for run in rig.ledger.runs() if run.ended} == set(short)
    rig.verify()
