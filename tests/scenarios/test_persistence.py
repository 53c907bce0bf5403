"""T7: a server that is killed and comes back with all of its data, without the last second of it, or with nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.load import Load, every
from tests.scenarios.rig import Rig
from tests.scenarios.scale import size
from tests.scenarios.trial import Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(60, 1800))]

RATE = 400.0
AWAY = 0.3
"""Seconds between a server's end and its return."""
BACKLOG = [(0.01,)] * 500
"""So many jobs that some wait, and some run, when the server ends."""
UNSYNCED = 1.0
"""Seconds of writes that a machine may lose whose server syncs its file each second."""


def test_a_server_that_syncs_each_write_loses_nothing(start_rig: StartRig) -> None:
    sync = ("--appendfsync", "always")
    rig = start_rig(persistent=True, server_flags=sync)
    for _ in range(2):
        rig.worker(wait=False)
    trial = Trial(rig, "server killed, appendfsync always")
    with Load(rig, size(600, 10_000), RATE):
        for _ in range(size(3, 20)):
            time.sleep(rig.random.uniform(0.2, 0.5))
            rig.away(AWAY, *sync)
            trial.returned()
    trial.conclude()


class Disk:
    """What of the server's file is surely on the disk: all that was written a second ago.

    Args:
        rig: with its server.
    """

    def __init__(self, rig: Rig) -> None:
        self._directory = Path(rig.server.directory) / "appendonlydir"
        self._sizes: list[tuple[float, int]] = []
        self.note()

    def note(self) -> None:
        """Remember how long the file is now."""
        now = time.monotonic()
        self._sizes.append((now, self._file.stat().st_size))

    def lose_unsynced(self) -> float:
        """Shorten it as a power cut may; since when everything is lost, on the monotonic clock."""
        latest = time.monotonic() - UNSYNCED
        since, length = [noted for noted in self._sizes if noted[0] <= latest][-1]
        os.truncate(self._file, length)
        self._sizes = [(time.monotonic(), length)]
        return since

    @property
    def _file(self) -> Path:
        (found,) = self._directory.glob("*.incr.aof")
        return found


def test_a_power_cut_costs_the_last_second_and_nothing_else(start_rig: StartRig) -> None:
    """The server syncs each second, as it does by default. What was done in that second is done again."""
    rig = start_rig(persistent=True)
    rig.worker()
    trial, disk = Trial(rig, "power cut, appendfsync everysec"), Disk(rig)
    dropped, repeated = set[str](), set[str]()
    with Load(rig, size(1000, 10_000), RATE) as load:
        for _ in range(size(2, 20)):
            rig.push(jobs.nap, BACKLOG)
            with every(0.02, disk.note):
                time.sleep(UNSYNCED + rig.random.uniform(0.2, 0.5))
            rig.server.kill()
            ended, since = time.monotonic(), disk.lose_unsynced()
            rig.server.start()
            trial.returned()
            dropped |= load.accepted_between(since, ended)
            repeated |= rig.ledger.under_way(since, time.monotonic())
    trial.conclude(bound=len(repeated), dropped=dropped, counted=False)


def test_after_a_server_that_keeps_nothing_work_goes_on_with_what_comes_then(rig: Rig) -> None:
    for _ in range(2):
        rig.worker(wait=False)
    trial = Trial(rig, "server killed, nothing kept")
    dropped = set[str]()
    with Load(rig, size(600, 10_000), RATE):
        for _ in range(size(3, 20)):
            rig.push(jobs.nap, BACKLOG)
            time.sleep(rig.random.uniform(0.2, 0.5))
            rig.server.kill()
            time.sleep(AWAY)
            dropped |= set(rig.accepted)
            rig.server.start()
            trial.returned()
    trial.conclude(dropped=dropped, counted=False)


def test_a_server_that_loads_its_data_is_waited_for(start_rig: StartRig) -> None:
    """To whatever it is asked it answers that it is not ready."""
    rig = start_rig(persistent=True)
    rig.worker()
    trial = Trial(rig, "server loading")
    with rig.redis.pipeline(transaction=False) as pipe:
        for number in range(6000):
            pipe.set(f"foreign:{number}", "x" * 1000)
        pipe.execute()
    # Each command takes a while to be loaded, and once in a thousand it answers those who ask.
    slowly = ("--key-load-delay", "200", "--loading-process-events-interval-bytes", "1024")
    with Load(rig, size(400, 2000), RATE):
        time.sleep(0.2)
        rig.away(AWAY, *slowly)
        trial.returned()
    assert rig.redis.info("errorstats")["errorstat_LOADING"]["count"] > 0
    trial.conclude()
