"""S4: an hour of work at half load, and something happens every ten seconds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from cogworker_django import RedisUnavailable
from cogworker_django.definition import FunctionJob
from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.crew import Crew
from tests.scenarios.load import every
from tests.scenarios.proxy import Proxy
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually, percentile
from tests.soak.mischief import SAFE, Mischief

MINUTES = float(os.environ.get("COGWORKER_SOAK_MINUTES") or 60)
EACH = 10.0
"""Seconds from one thing to the next."""
PROCESSES, THREADS = 3, 5
TAKES, BATCH, PAUSE = 0.025, 6, 0.02
"""Seconds that a job takes, and how many are pushed in which seconds: half of what all threads could do."""
FAILING = 10
"""Jobs a second that fail and die, too few to reach the limit of the dead within an hour."""
THRESHOLD = 5.0
RETURN = 15.0
"""Seconds after the end of anything within which a job runs that is pushed then."""


@pytest.mark.timeout(60 * MINUTES + 900)
def test_whatever_happens_nothing_is_lost_and_nothing_doubled_without_a_reason(
    start_rig: StartRig, tmp_path: Path
) -> None:
    rig = start_rig(persistent=True, server_flags=SAFE, ORPHAN_THRESHOLD=THRESHOLD)
    proxy = Proxy(rig.server.port)
    crew = Crew(rig, PROCESSES, "-c", str(THREADS), REDIS=proxy.url)
    mischief = Mischief(rig, proxy, crew, THRESHOLD)
    back: list[float] = []
    began = time.monotonic()
    with every(PAUSE, lambda: push(rig, jobs.nap, BATCH)), every(1.0, lambda: push(rig, jobs.fail_after, FAILING)):
        while time.monotonic() - began < 60 * MINUTES:
            due = time.monotonic() + EACH
            back.append(until_back(rig, mischief.next(), tmp_path / f"mark{len(back)}"))
            time.sleep(max(0.0, due - time.monotonic()))
    assert len(rig.accepted) > BATCH * 60 * MINUTES / PAUSE / 4, "the load was never much less than was meant"
    crew.complete()
    rig.until_done(60)
    rig.verify(left=rig.redis.zcard(f"{PREFIX}dead"))
    proxy.close()
    report(rig, mischief, back)


def push(rig: Rig, job: FunctionJob[..., Any], number: int) -> None:
    """Push some jobs in one go."""
    try:
        rig.push(job, [(TAKES,)] * number, retry=0)
    except RedisUnavailable:
        # They may have arrived.
        rig.unknown += number


def until_back(rig: Rig, name: str, mark: Path) -> float:
    """Seconds until a job has run that is pushed now, behind all others."""
    began = time.monotonic()
    rig.push_surely(jobs.touch, str(mark))
    eventually(mark.exists, RETURN, f"work after: {name}", rig.logs)
    return time.monotonic() - began


def report(rig: Rig, mischief: Mischief, back: list[float]) -> None:
    """Print the figures; jobs that were taken from a process have run in time."""
    runs = rig.ledger.runs()
    ended = {run.jid: run.ended for run in runs if run.ended is not None}
    away = [ended[jid] - when for when, jids in mischief.taken for jid in jids if jid in ended]
    extra, bound = extra_runs(runs).total(), sum(len(jids) for _, jids in mischief.taken)
    print(f"{MINUTES:g} minutes: {len(rig.accepted)} jobs, {rig.unknown} pushes in doubt, {dict(mischief.done)}")
    print(f"lost 0, extra {extra}, bound {bound}")
    for name, values in (("back after", back), ("jobs of dead processes away for", away)):
        shares = [percentile(values, share) for share in (0.5, 0.99, 1.0)] if values else []
        print(f"{name} {shares[0]:.2f} s p50, {shares[1]:.2f} s p99, {shares[2]:.2f} s max" if values else name)
    # The threshold, one look, and whatever happened meanwhile.
    assert max(away, default=0.0) < 2 * THRESHOLD + 2 * RETURN
