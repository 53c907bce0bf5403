"""Processes that are killed, or that a job takes along: nothing is lost, and next to nothing runs twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cogworker_django.definition import FunctionJob
from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

JOBS, KILLS = 20_000, 10
LONGEST_JOB = 0.012  # seconds; the survivor alone must not be done before the last kill


def test_twenty_thousand_jobs_survive_ten_kills(rig: Rig) -> None:
    began = time.monotonic()
    rig.push(jobs.nap, [(rig.random.random() * LONGEST_JOB,) for _ in range(JOBS)])
    rig.worker()
    victim = rig.worker()
    in_hand = []
    for kill in range(KILLS):
        rig.at_work(victim)
        time.sleep(rig.random.random() * 0.3)
        in_hand.append(len(rig.kill(victim)))
        assert rig.queued() > 0, f"all was done before kill {kill}"
        victim = rig.worker()
    rig.until_done(40)
    rig.verify()
    extra = extra_runs(rig.ledger.runs()).total()
    print(f"{JOBS} jobs, {KILLS} kills: in hand {in_hand}, {extra} extra runs, {time.monotonic() - began:.1f} s")


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


@pytest.mark.parametrize("poison", [jobs.exit_process, jobs.abort_process], ids=["exit", "abort"])
def test_a_job_that_kills_its_process_is_buried_and_its_neighbours_are_not(
    start_rig: StartRig, poison: FunctionJob
) -> None:
    """R36, T3: the neighbours run beside it, or were only fetched beside it."""
    rig = start_rig(ORPHAN_THRESHOLD=1.0, MAX_ORPHANINGS=1)
    killer = rig.push_one(poison)
    innocents = rig.push(jobs.nap, [(0.001,)] * 200)
    victim = rig.worker("-c", "2")
    for _ in range(2):
        assert victim.exit_status() != 0
        rig.at_risk.update(rig.in_progress(victim))
        victim = rig.worker("-c", "2")
    eventually(lambda: killer in rig.snapshot().at("dead"), 10, "the burial", rig.logs)
    rig.until_done(10)
    (entry,) = rig.filed("dead")
    assert (entry["jid"], entry["error_class"]) == (killer, "ProcessDied")
    assert rig.ledger.starts(killer) == 2
    assert innocents and rig.count("processed") == len(innocents)
    rig.verify(buried=1, left=1)


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
