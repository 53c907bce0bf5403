"""S3: a server that goes away two hundred times."""

from __future__ import annotations

import psutil

from tests.scenarios.conftest import StartRig
from tests.scenarios.load import Load
from tests.scenarios.trial import Trial
from tests.scenarios.waiting import percentile

OUTAGES = 200
RATE = 100
SAFE = ("--appendfsync", "always")
"""So that the server itself loses nothing."""


def test_two_hundred_outages_leave_threads_files_and_connections_as_they_were(start_rig: StartRig) -> None:
    rig = start_rig(persistent=True, server_flags=SAFE)
    workers = [rig.worker() for _ in range(2)]
    trial = Trial(rig, "200 outages")
    connections = []
    with Load(rig, 100 * OUTAGES, RATE):
        for _ in range(OUTAGES):
            rig.away(rig.random.random(), *SAFE)
            trial.returned()
            connections.append(sum(len(psutil.Process(worker.pid).net_connections()) for worker in workers))
    print(f"connections {min(connections)} to {max(connections)}, back after {percentile(trial.back, 0.5):.2f} s p50,")
    print(f"{percentile(trial.back, 0.99):.2f} s p99")
    trial.conclude(bound=0)
    assert max(connections[-10:]) <= max(connections[:10]) + 2
