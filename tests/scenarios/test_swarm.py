"""Several processes under one parent: nothing is lost whatever happens to them (W9, W10, T6)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from cogworker_django.api.processes import ProcessSet
from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.scale import size
from tests.scenarios.swarm import Swarm
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

JOBS = size(1_500, 5_000)
KILLS, ROLLS = size(8, 50), size(2, 10)
DRAIN = 1.0
"""Seconds that a stop waits for jobs."""


def test_three_children_share_ten_jobs(rig: Rig) -> None:
    """W9."""
    swarm = Swarm(rig, 3, "-c", "1").complete()
    rig.push(jobs.nap, [(0.3,)] * 10)
    rig.until_done(10)
    assert {run.pid for run in rig.ledger.runs()} == set(swarm.pids)
    assert len({swarm.identity(pid) for pid in swarm.pids}) == 3
    rig.verify()


def test_kills_and_restarts_all_the_time_lose_nothing(rig: Rig) -> None:
    """T6, W10, B076: and nothing of the parent grows."""
    swarm = Swarm(rig, 4, "-c", "5", "--phased-restart").complete()
    parent = psutil.Process(swarm.parent.pid)
    files, born = parent.num_fds(), swarm.births
    fewest = 4
    rig.push(jobs.nap, [(rig.random.random() * 0.02,) for _ in range(JOBS)])
    turns = [*["kill"] * KILLS, *["roll"] * ROLLS]
    rig.random.shuffle(turns)
    for turn in turns:
        if rig.queued() < JOBS // 2:
            rig.push(jobs.nap, [(rig.random.random() * 0.02,) for _ in range(JOBS // 2)])
        if turn == "kill":
            swarm.kill(rig.random.choice(swarm.children))
            # Those that are killed again and again wait for their next start, as they should.
            eventually(lambda: len(swarm.children) >= 3, 80, "another child", lambda: swarm.parent.text)
        else:
            eventually(lambda: len(swarm.children) == 4, 80, "all children", lambda: swarm.parent.text)
            done = swarm.births + 4
            swarm.restart()
            while swarm.births < done:
                fewest = min(fewest, len(swarm.children))
                assert not swarm.parent.has_ended, swarm.parent.text
                time.sleep(0.01)
        eventually(lambda: not swarm.zombies(), 2, "burials")
    rig.until_done(60)
    swarm.complete()
    assert fewest >= 3, "in a phased restart there is always somebody at work"
    eventually(lambda: parent.num_fds() == files, 5, "as many descriptors as at first")
    assert parent.num_threads() == 1
    rig.stop()
    rig.verify()
    extra = extra_runs(rig.ledger.runs()).total()
    print(
        f"{len(rig.accepted)} jobs, {KILLS} kills, {ROLLS} phased restarts of four processes, {swarm.births - born} "
        f"processes more: lost 0, {extra} ran again; never fewer than {fewest} processes"
    )


def test_full_processes_are_replaced_one_at_a_time(rig: Rig) -> None:
    """`--max-jobs`."""
    swarm = Swarm(rig, 2, "-c", "2", "--max-jobs", "50").complete()
    rig.push(jobs.nap, [(0.005,)] * 400)
    fewest = 2
    while rig.queued():
        fewest = min(fewest, len(swarm.children))
        time.sleep(0.01)
    rig.until_done(20)
    assert swarm.births > 4
    assert fewest >= 1
    assert "is replaced: it has run " in swarm.parent.text
    assert "unexpectedly" not in swarm.parent.text
    swarm.complete()
    rig.verify()
    assert not extra_runs(rig.ledger.runs())


def test_a_process_that_takes_too_much_memory_is_replaced(rig: Rig) -> None:
    """`--max-rss`, also of a single worker."""
    swarm = Swarm(rig, 1, "--max-rss", "200").complete()
    [old] = swarm.pids
    rig.push_one(jobs.hoard, 300)
    eventually(lambda: swarm.pids not in ([], [old]), 20, "another process", lambda: swarm.parent.text)
    assert "is replaced: it takes " in swarm.parent.text
    rig.until_done(5)
    rig.verify()


def test_a_stop_from_afar_is_for_good_and_a_quiet_one_stays_so(rig: Rig) -> None:
    """E1, engine 3.10."""
    swarm = Swarm(rig, 2).complete()
    quiet, stopped = swarm.pids
    find = ProcessSet().find
    for pid, act in ((quiet, "quiet"), (stopped, "stop")):
        process = find(swarm.identity(pid))
        assert process is not None
        getattr(process, act)()
    swarm.parent.said("is retired")
    eventually(lambda: swarm.pids == [quiet], 10, "the other one to leave")
    swarm.parent.said("quiet: no more jobs are fetched")
    os.kill(quiet, signal.SIGKILL)
    swarm.parent.said(" started: ", times=3)
    time.sleep(0.1)
    [later] = swarm.pids
    eventually(lambda: (found := find(swarm.identity(later))) is not None and found["quiet"], 10, "a quiet successor")

    def told() -> list[str]:
        process = find(swarm.identity(later))
        table = process.get("swarm", {}) if process else {}
        return [slot["state"] for slot in table.get("slots", ()) if table["parent"] == swarm.parent.pid]

    eventually(lambda: sorted(told()) == ["retired", "running"], 5, "the slots on the page", lambda: str(told()))
    process = find(swarm.identity(later))
    assert process is not None
    process.stop()
    assert swarm.parent.exit_status(15) == 0, "the last slot is retired"


def test_children_of_a_killed_parent_finish_and_leave(rig: Rig) -> None:
    swarm = Swarm(rig, 2, "-c", "2").complete()
    pids = swarm.pids
    jids = rig.push(jobs.nap, [(0.5,)] * 4)
    rig.until_running(*jids)
    swarm.parent.kill()
    eventually(lambda: not any(map(psutil.pid_exists, pids)), 10, "the children to leave", rig.logs)
    assert {run.jid for run in rig.ledger.runs() if run.ended} == set(jids)
    assert not rig.redis.hkeys(f"{PREFIX}beats")
    rig.verify()


def test_drained_children_end_the_swarm(rig: Rig) -> None:
    rig.push(jobs.nap, [(0.01,)] * 200)
    swarm = Swarm(rig, 3, "--drain")
    assert swarm.parent.exit_status(20) == 0, swarm.parent.text
    assert swarm.parent.text.count(" is drained") == 3
    rig.verify()


STATES = ("idle", "busy", "Redis away", "booting", "quiet")


@pytest.mark.parametrize("state", STATES)
def test_from_term_to_exit_it_takes_no_longer_than_promised(start_rig: StartRig, state: str) -> None:
    """Drain time and five seconds, in every state."""
    rig = start_rig(SHUTDOWN_TIMEOUT=DRAIN)
    if state == "booting":
        rig.server.kill()
    swarm = Swarm(rig, 2, "-c", "2")
    if state == "booting":
        swarm.parent.said("Redis is not available", times=2)
    else:
        swarm.complete()
    if state == "busy":
        rig.until_running(*rig.push(jobs.nap, [(30.0,)] * 4))
    elif state == "quiet":
        swarm.parent.send(signal.SIGTSTP)
        swarm.parent.said("quiet: ", times=2)
    elif state == "Redis away":
        rig.server.kill()
    began = time.monotonic()
    status = swarm.parent.terminate(DRAIN + 5)
    took = time.monotonic() - began
    assert status == 0, swarm.parent.text
    assert took < DRAIN + 5
    assert not swarm.children
    swarm.parent.no_traceback()
    print(f"{state}: {took:.2f} s")


def test_a_wrong_password_is_one_line_and_exit_1(start_rig: StartRig) -> None:
    """B142."""
    rig = start_rig(server_flags=("--requirepass", "right"))
    swarm = Swarm(rig, 3, REDIS=rig.server.url.replace("://", "://:wrong@"))
    assert swarm.parent.exit_status(20) == 1
    told = [line for line in swarm.parent.text.splitlines() if "swarm: " not in line]
    assert len(told) == 1, swarm.parent.text
    assert "RedisDenied" in told[0]
    swarm.parent.no_traceback()


NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc")


def inside(outside: WorkerProcess) -> psutil.Process:
    """The process that is the first one in its own namespace."""
    [first] = psutil.Process(outside.pid).children()
    return first


@pytest.mark.skipif(os.geteuid() != 0, reason="no right to make a PID namespace")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_as_the_first_process_of_a_container_it_buries_whoever_is_left_to_it(rig: Rig, processes: str) -> None:
    """B074."""
    outside = rig.worker("--processes", processes, under=NAMESPACE)
    first = inside(outside)
    eventually(lambda: outside.text.count(" started: ") == int(processes), 10, "all to start")
    rig.push(jobs.leave_orphan, [()] * 10)
    rig.until_done(10)
    # The orphans end a tenth of a second later, and are left to the first process.
    eventually(lambda: not strangers(first), 5, "the orphans to be gone", lambda: str(strangers(first)))
    first.send_signal(signal.SIGTERM)
    assert outside.exit_status(10) == 0
    rig.verify()


def strangers(first: psutil.Process) -> list[psutil.Process]:
    """Everything below it that is no worker, zombies included."""
    found = []
    for process in first.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() == psutil.STATUS_ZOMBIE or process.name() in ("sh", "sleep"):
                found.append(process)
    return found


def test_a_log_file_that_was_moved_away_is_opened_anew_by_all(rig: Rig, tmp_path: Path) -> None:
    log, old = tmp_path / "cogworker.log", tmp_path / "old.log"
    parent = rig.worker("--processes", "2", "-L", str(log), wait=False)
    eventually(lambda: log.exists() and log.read_text(encoding="utf-8").count(" started: ") == 2, 20, "the start")
    log.rename(old)
    parent.send(signal.SIGHUP)
    eventually(lambda: log.exists() and log.read_text(encoding="utf-8").count("is opened anew") == 3, 10, "a new log")
    kept = old.read_text(encoding="utf-8")
    rig.push(jobs.nap, [()] * 20)
    rig.until_done(5)
    assert parent.terminate() == 0
    assert old.read_text(encoding="utf-8") == kept
    lines = log.read_text(encoding="utf-8").splitlines()
    assert sum("done: nap" in line for line in lines) == 20
    assert all(line[:2] == "20" for line in lines), "one line a record"
    assert not parent.text
