"""T9: a server that is there and answers nobody for a while, or only those who do not write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import redis

from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.load import Load
from tests.scenarios.rig import Rig
from tests.scenarios.scale import LONG, size
from tests.scenarios.trial import Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(60, 1800))]

LENGTHS = (1.0, 10.0, 70.0) if LONG else (1.5,)
"""Seconds of each pause."""
THRESHOLD = 1.0
"""Seconds above which a process counts as dead."""
FLAGS = ("--enable-debug-command", "local", "--busy-reply-threshold", "100")
BUSY = """
local function now() local time = redis.call('TIME') return time[1] + time[2] / 1e6 end
local till = now() + ARGV[1]
while now() < till do end
"""


@contextmanager
def asked_for(rig: Rig, *command: str) -> Iterator[None]:
    """The server does as it was told while we wait for its answer."""
    with redis.Redis.from_url(rig.server.url, socket_timeout=None) as client:
        asking = threading.Thread(target=client.execute_command, args=command)
        asking.start()
        yield
        asking.join()


@contextmanager
def told(rig: Rig, seconds: float, mode: str) -> Iterator[None]:
    """The server has been told to let clients wait."""
    rig.redis.client_pause(int(seconds * 1000), all=mode == "ALL")
    yield
    with redis.Redis.from_url(rig.server.url) as client:
        client.client_unpause()


PAUSES: dict[str, Callable[[Rig, float], AbstractContextManager[None]]] = {
    "frozen": lambda rig, _: rig.frozen_server(),
    "asleep": lambda rig, seconds: asked_for(rig, "DEBUG", "SLEEP", str(seconds)),
    "busy with a script": lambda rig, seconds: asked_for(rig, "EVAL", BUSY, "0", str(seconds)),
    "pausing all": lambda rig, seconds: told(rig, seconds, "ALL"),
    "pausing writes": lambda rig, seconds: told(rig, seconds, "WRITE"),
}


@pytest.mark.parametrize("pause", PAUSES)
def test_a_server_that_pauses_repeats_nothing(start_rig: StartRig, pause: str) -> None:
    """Longer than the threshold, while jobs run, and nobody is taken for dead."""
    rig = start_rig(server_flags=FLAGS, ORPHAN_THRESHOLD=THRESHOLD)
    for _ in range(2):
        rig.worker(wait=False)
    trial = Trial(rig, f"server {pause}")
    with Load(rig, size(600, 10_000), 400.0):
        for seconds in LENGTHS:
            through = rig.push(jobs.nap, [(seconds + 0.5,)] * 2)
            rig.until_running(*through)
            with PAUSES[pause](rig, seconds):
                time.sleep(seconds)
            trial.returned()
    trial.conclude()
