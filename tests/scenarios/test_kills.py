"""Processes that are killed, or that a job takes along: nothing is lost, and next to nothing runs twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.crew import Crew
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.scale import size

pytestmark = pytest.mark.slow

BATCH = 1_000
BATCHES, KILLS = size(20, 200), size(10, 1_000)
PERIOD = 0.5
"""Seconds between two kills, on average."""
THREADS, PROCESSES = 5, 3
LONGEST_JOB = 3 * THREADS * PROCESSES * PERIOD * KILLS / (BATCHES * BATCH)
"""Seconds; all must not be done before the last kill."""
PATIENCE = size(40, 600)
IDLE_ROUNDS, IDLE_JOBS = size(4, 50), 2_000
LOOK = 1.0
"""Seconds after which an idle worker looks by itself: a wake-up may die with the one it was meant for."""


def push_mixture(rig: Rig) -> int:
    """A batch of jobs, of which some fail at once and for ever; how many."""
    failing = BATCH // 20
    rig.push(jobs.nap, [(rig.random.random() * LONGEST_JOB,) for _ in range(BATCH - 2 * failing)])
    rig.push(jobs.fail_after, [(rig.random.random() * 0.01,) for _ in range(failing)], retry=0)
    rig.push(jobs.fail_after, [(rig.random.random() * 0.01,) for _ in range(failing)])
    return 2 * failing


def test_jobs_survive_kills_at_any_moment(start_rig: StartRig) -> None:
    """T2: while they run, succeed, fail, and are filed."""
    began = time.monotonic()
    # Among a thousand kills some job is hit four times in a row; that it is dead then is another test's matter.
    rig = start_rig(MAX_ORPHANINGS=KILLS)
    failing = sum(push_mixture(rig) for _ in range(BATCHES))
    crew = Crew(rig, PROCESSES, "-c", str(THREADS))
    in_hand = []
    for kill in range(KILLS):
        time.sleep(rig.random.random() * 2 * PERIOD)
        victim = crew.anyone()
        rig.at_work(victim)
        in_hand.append(len(rig.kill(victim)))
        crew.replace(victim)
        assert rig.queued() > 0, f"all was done before kill {kill}"
    rig.until_done(PATIENCE)
    crew.complete()
    rig.verify(left=failing)
    runs = rig.ledger.runs()
    cut_off, extra = sum(run.ended is None for run in runs), extra_runs(runs).total()
    print(f"{len(rig.accepted)} jobs, {KILLS} kills: {sum(in_hand)} in hand, {cut_off} of them running,")
    print(f"{extra} ran again, {extra / KILLS:.1f} a kill, {time.monotonic() - began:.1f} s")


def test_whoever_is_killed_while_it_waits_takes_no_job_along(rig: Rig) -> None:
    """T1: half of them are frozen before the push and killed after it, so that the one wake-up is for the dead."""
    crew = Crew(rig, 2)
    share = 2 * IDLE_JOBS // IDLE_ROUNDS
    took = []
    for kill in range(IDLE_ROUNDS):
        victim = crew.anyone()
        time.sleep(rig.random.random() * 0.1)
        if kill % 2:
            victim.freeze()
            rig.push_one(jobs.nap)
            assert not rig.kill(victim)
        else:
            assert not rig.kill(victim)
            rig.push(jobs.nap, [()] * share)
        took.append(rig.until_done(10))
        crew.replace(victim)
    crew.complete()
    rig.verify()
    print(f"{len(rig.accepted)} jobs, {IDLE_ROUNDS} kills: done {max(took):.2f} s after the push")
    assert not extra_runs(rig.ledger.runs())
    # The jobs themselves take a moment, on a machine that does more.
    assert max(took) < LOOK + 4


def test_a_killed_process_s_jobs_run_on_the_other_and_it_leaves_the_list(rig: Rig, tmp_path: Path) -> None:
    """B050, R50."""
    victim = rig.worker("-c", "10")
    gate = tmp_path / "gate"
    mine = rig.push(jobs.wait_for, [(str(gate),)] * 10)
    rig.until_running(*mine)
    other = rig.worker("-c", "10")
    rig.kill(victim)
    killed = time.monotonic()
    gate.touch()
    rig.until_done(10)
    # A pass of recovery comes each threshold at this scale; half a second is for a machine that does more.
    assert time.monotonic() - killed < 2 * rig.settings["ORPHAN_THRESHOLD"] + 0.5
    assert {run.pid for run in rig.ledger.runs() if run.ended} == {other.pid}
    beats = rig.redis.hkeys(f"{PREFIX}beats")
    assert beats == [other.identity.encode()]
    assert rig.redis.exists(f"{PREFIX}process:{victim.identity}") == 0
    rig.verify()
    assert extra_runs(rig.ledger.runs()) == dict.fromkeys(mine, 1)


def test_a_job_that_runs_three_times_the_threshold_runs_once(start_rig: StartRig) -> None:
    """B057: running, and delayed."""
    rig = start_rig(ORPHAN_THRESHOLD=1.0)
    rig.worker()
    rig.worker()
    rig.push_one(jobs.nap, 3.0)
    later = jobs.nap.perform_in(3.0, 0.0)
    assert later is not None
    rig.accepted.append(later)
    rig.until_done(10)
    rig.verify()
    assert len(rig.ledger.runs()) == 2


def test_the_job_of_a_killed_process_is_unique_to_one_run_at_a_time(start_rig: StartRig) -> None:
    """Half of B036: while the recovered job has not run again, nobody else runs it, and then it is gone."""
    rig = start_rig(ORPHAN_THRESHOLD=1.0)
    victim = rig.worker()
    jid = rig.push_one(jobs.nap, 0.5)
    rig.until_running(jid)
    rig.kill(victim)
    for _ in range(2):
        rig.worker()
    rig.until_done(10)
    rig.verify()
    assert rig.ledger.starts(jid) == 2
