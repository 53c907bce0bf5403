"""A swarm to which everything happens at once: it stays one, loses nothing, and stops as it should."""

from __future__ import annotations

import contextlib
import signal
import time

import psutil
import pytest

from tests.scenarios import jobs
from tests.scenarios.rig import Rig
from tests.scenarios.scale import size
from tests.scenarios.swarm import Swarm
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

TURNS = size(25, 250)
MANY = 200
"""Signals in a storm."""


class Weather:
    """What befalls a swarm."""

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self.random = swarm.rig.random
        self.kinds = (self.restarts, self.deaths_heard, self.freeze, self.freeze_child, self.kill, self.stop_child)

    def restarts(self) -> None:
        """USR2 again and again, also in the middle of a restart and of a fork."""
        for _ in range(self.random.choice((1, MANY))):
            self.swarm.restart()

    def deaths_heard(self) -> None:
        """CHLD without a death."""
        for _ in range(MANY):
            self.swarm.parent.send(signal.SIGCHLD)

    def freeze(self) -> None:
        """The parent stands still, and goes on."""
        self.swarm.parent.freeze()
        time.sleep(self.random.random() * 0.1)
        self.swarm.parent.thaw()

    def freeze_child(self) -> None:
        """The same for a child."""
        child = self.child()
        child.suspend()
        time.sleep(self.random.random() * 0.1)
        child.resume()

    def kill(self) -> None:
        """A child dies, whatever it was about to do."""
        self.swarm.kill(self.child())

    def stop_child(self) -> None:
        """Somebody stops a child without asking the parent."""
        self.child().terminate()

    def child(self) -> psutil.Process:
        """Any one."""
        children = self.swarm.children
        if not children:
            raise psutil.NoSuchProcess(0)
        return self.random.choice(children)


@pytest.mark.parametrize("flags", [("--phased-restart",), ("--max-jobs", "40")], ids=["phased", "at once, with limits"])
def test_whatever_happens_to_it_nothing_is_lost_and_it_stops(rig: Rig, flags: tuple[str, ...]) -> None:
    swarm = Swarm(rig, 3, "-c", "3", *flags).complete()
    weather = Weather(swarm)
    for _ in range(TURNS):
        rig.push(jobs.nap, [(rig.random.random() * 0.02,)] * 20)
        with contextlib.suppress(psutil.NoSuchProcess):
            rig.random.choice(weather.kinds)()
        assert not swarm.parent.has_ended, swarm.parent.text
        time.sleep(rig.random.random() * 0.1)
    # Some slots wait for their next start by now.
    swarm.complete(80)
    rig.until_done(60)
    pids = swarm.pids
    began = time.monotonic()
    swarm.parent.send(signal.SIGTERM)
    for _ in range(MANY):
        swarm.parent.send(rig.random.choice((signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTERM)))
    assert swarm.parent.exit_status(rig.settings["SHUTDOWN_TIMEOUT"] + 5) == 0, swarm.parent.text
    assert time.monotonic() - began < 5
    eventually(lambda: not any(map(psutil.pid_exists, pids)), 1, "all to be gone")
    swarm.parent.no_traceback()
    rig.verify()
