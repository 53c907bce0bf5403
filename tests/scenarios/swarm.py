"""A swarm as operators know it: a parent, and children that come and go."""

from __future__ import annotations

import re
import signal
from typing import Any, cast

import psutil

from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually

BANNER = re.compile(r" started: (\S+), pid (\d+), ")


class Swarm:
    """A `manage.py cogworker --processes N` of a rig.

    Args:
        rig: where it runs.
        number: of processes.
        flags: further ones.
    """

    def __init__(self, rig: Rig, number: int, *flags: str, **settings: Any) -> None:
        self.rig = rig
        self.number = number
        self.parent: WorkerProcess = rig.worker("--processes", str(number), *flags, wait=False, **settings)

    def complete(self, seconds: float = 30.0) -> Swarm:
        """Wait until all of its children have beaten, and no others are listed."""
        beats = f"{PREFIX}beats"

        def all_listed() -> bool:
            listed = {identity.decode() for identity in cast("list[bytes]", self.rig.redis.hkeys(beats))}
            pids = self.pids
            return len(pids) == self.number and listed == set(map(self.identity, pids))

        eventually(all_listed, seconds, "the swarm to be complete", lambda: self.parent.text)
        return self

    @property
    def children(self) -> list[psutil.Process]:
        """The children that live."""
        return [child for child in self._below() if status(child) not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)]

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [child.pid for child in self.children]

    def identity(self, pid: int) -> str:
        """The name of a child in Redis; empty before its first beat."""
        return {found[2]: found[1] for found in BANNER.finditer(self.parent.text)}.get(str(pid), "")

    @property
    def births(self) -> int:
        """How many children have started to work."""
        return len(BANNER.findall(self.parent.text))

    def kill(self, child: psutil.Process) -> None:
        """Kill a child as the system's memory killer does; each job that it had in hand may run once more."""
        try:
            child.suspend()
            eventually(lambda: child.status() == psutil.STATUS_STOPPED, 5.0, "the child to be stopped")
        except psutil.NoSuchProcess:
            return
        self.rig.at_risk.update(self.rig.in_hand(self.identity(child.pid)))
        child.kill()

    def restart(self) -> None:
        """Have all of its children replaced."""
        self.parent.send(signal.SIGUSR2)

    def zombies(self) -> list[int]:
        """The processes below it that have ended and were not buried."""
        return [child.pid for child in self._below(recursive=True) if status(child) == psutil.STATUS_ZOMBIE]

    def _below(self, *, recursive: bool = False) -> list[psutil.Process]:
        try:
            found: list[psutil.Process] = psutil.Process(self.parent.pid).children(recursive=recursive)
            return found
        except psutil.NoSuchProcess:
            return []


def status(process: psutil.Process) -> str:
    """How a process is; dead when it is not there any more."""
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)
