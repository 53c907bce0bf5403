"""How soon work begins: idle workers are woken, and due jobs move at once."""

from __future__ import annotations

import time

import pytest

from cogworker_django import Client
from tests.scenarios import jobs
from tests.scenarios.rig import Rig
from tests.scenarios.waiting import eventually, percentile

pytestmark = pytest.mark.slow

QUEUES = ("one", "two", "three")
LATEST = 0.3  # seconds


def test_no_push_waits_for_an_idle_worker(rig: Rig) -> None:
    flags = [word for queue in QUEUES for word in ("-q", queue)]
    for _ in range(3):
        rig.worker(*flags)
    pushed: dict[str, float] = {}
    for _ in range(2000):
        at = time.monotonic()
        pushed[rig.push_one(jobs.nap, queue=rig.random.choice(QUEUES))] = at
        time.sleep(rig.random.uniform(0, 0.01))
    rig.until_done(10)
    waited = [run.started - pushed[run.jid] for run in rig.ledger.runs()]
    p50, p99 = percentile(waited, 0.5), percentile(waited, 0.99)
    print(f"picked up after {p50 * 1000:.1f} ms (p50), {p99 * 1000:.1f} ms (p99), {max(waited) * 1000:.1f} ms at most")
    rig.verify()
    assert len(waited) == len(pushed)
    assert max(waited) < LATEST


def test_ten_thousand_due_jobs_are_on_their_queues_at_once(rig: Rig) -> None:
    rig.worker("-q", "watched")
    due = time.time() + 5
    assert None not in Client.push_bulk([{"class": "nap", "args": [0.0], "at": due}] * 10_000)
    assert time.time() < due, "pushing took too long for this test"
    time.sleep(max(0.0, due - time.time() - 0.1))
    eventually(lambda: rig.queued() == 10_000, 5, "all to be on their queue", rig.queued)
    late = time.time() - due
    print(f"10,000 jobs on their queue {late:.3f} s after they were due")
    assert late < 2
    rig.stop()


def test_a_delayed_job_begins_within_a_moment_of_its_time(rig: Rig) -> None:
    rig.worker()
    rig.worker()
    due: dict[str, float] = {}
    for _ in range(100):
        delay = rig.random.uniform(0.2, 3)
        at = time.monotonic() + delay
        jid = jobs.nap.perform_in(delay)
        assert jid is not None
        due[jid] = at
    rig.accepted += due
    rig.until_done(10)
    late = [run.started - due[run.jid] for run in rig.ledger.runs()]
    print(f"begun {percentile(late, 0.5) * 1000:.1f} ms (p50) to {max(late) * 1000:.1f} ms after the due time")
    rig.verify()
    assert min(late) > -0.05
    assert max(late) < 0.25
