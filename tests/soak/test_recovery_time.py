"""How long the jobs of a killed process are away with the settings that everybody has: nothing is shortened here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cogworker_django.core.config import Config
from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.waiting import percentile

KILLED, THREADS = 6, 5
USUAL = Config()
LOOK = 60.0
"""Seconds between two looks for dead processes (reference, section 10.1)."""
BOUND = USUAL.orphan_threshold + LOOK + USUAL.fetch_idle_max_interval


@pytest.mark.timeout(900)
def test_a_killed_process_s_jobs_run_again_after_the_threshold_and_one_look(
    start_rig: StartRig, tmp_path: Path
) -> None:
    rig = start_rig(ORPHAN_THRESHOLD=USUAL.orphan_threshold, CONCURRENCY=THREADS)
    gate = tmp_path / "gate"
    victims = []
    for _ in range(KILLED):
        victims.append(rig.worker())
        rig.until_running(*rig.push(jobs.wait_for, [(str(gate),)] * THREADS))
    rig.worker("-c", str(KILLED * THREADS))
    killed = {}
    for victim in victims:
        # Over the whole time between two looks of the survivor.
        time.sleep(rig.random.random() * 2 * LOOK / KILLED)
        killed[victim.pid] = time.monotonic()
        assert len(rig.kill(victim)) == THREADS
    gate.touch()
    rig.until_done(BOUND + 60)
    rig.verify()
    runs = rig.ledger.runs()
    died = {run.jid: killed[run.pid] for run in runs if run.ended is None}
    away = [run.started - died[run.jid] for run in runs if run.ended is not None]
    p50, p99 = percentile(away, 0.5), percentile(away, 0.99)
    print(
        f"{len(away)} jobs of {KILLED} killed processes: away {p50:.0f} s p50, {p99:.0f} s p99, {max(away):.0f} s max"
    )
    assert len(away) == KILLED * THREADS
    assert max(away) < BOUND
