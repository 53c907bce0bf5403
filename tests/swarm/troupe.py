"""A swarm whose children play a part each; `python -m tests.swarm.troupe N PART…` runs it in the foreground.

The parts: `works`, and leaves for good at an USR2 of its own; `crashes` at once; `deaf`, does not leave; `refuses` to
start; `drains` by itself; `full` asks to be replaced; `mute` works and never says that it does; `hangs` at
its birth.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cogworker_django.process import logs
from cogworker_django.process.board import Board
from cogworker_django.process.commands import QUIET, RESTART, STOP, STOP_NOW, Commands
from cogworker_django.process.condition import Condition, Phase
from cogworker_django.process.link import Full, Leaving, Link, Quiet, Refused
from cogworker_django.process.service import Service
from cogworker_django.swarm.plan import SwarmPlan
from cogworker_django.swarm.supervisor import Supervisor

BEAT = 0.02


def play(link: Link, commands: Commands, parts: Sequence[str], quiet: bool) -> int:
    """A child's whole life."""
    if "crashes" in parts:
        return 7
    if "hangs" in parts:
        signal.pause()
    if "refuses" in parts:
        link.say(Refused("the password is wrong"))
        return 1
    if "drains" in parts:
        link.say(Leaving("drained"))
        return 0
    print(f"born {os.getpid()} {'quiet' if quiet else 'awake'}", flush=True)
    return _work(link, commands, parts)


def _work(link: Link, commands: Commands, parts: Sequence[str]) -> int:
    while True:
        command = commands.get(BEAT)
        link.hear()
        identity = "" if "mute" in parts else f"h:{os.getpid()}:a"
        link.say(Condition(pid=os.getpid(), phase=Phase.WORKING, identity=identity))
        if "full" in parts:
            link.say(Full("it has had enough"))
        if command is not None:
            print(f"{os.getpid()} hears {command}", flush=True)
        if command == QUIET:
            link.say(Quiet(True))
        if command in (STOP, STOP_NOW) and "deaf" not in parts:
            return 0
        if link.broken:
            print(f"{os.getpid()} is an orphan", flush=True)
            return 0
        if command == RESTART:
            link.say(Leaving("retired"))
            return 0


def main() -> int:
    """Run the swarm; its exit status."""
    number, *parts = sys.argv[1:]
    logs.install()
    signal.alarm(50)
    stage = Path(os.environ["STAGE"])

    def body(link: Link, commands: Commands, slot: int, quiet: bool) -> int:
        signal.alarm(50)
        # What is written there changes the part of those that are born later.
        later = stage.read_text(encoding="utf-8").split() if stage.exists() else parts
        return play(link, commands, later, quiet)

    plan = SwarmPlan(processes=int(number), drain_time=float(os.environ.get("DRAIN", "20")), phased="phased" in parts)
    # A clock that runs fast shortens the time after which a silent process counts as stuck.
    board = Board(lambda: time.monotonic() * float(os.environ.get("HASTE", "1")))
    commands = Commands(plan.hangup)
    commands.listen()
    supervisor = Supervisor(plan, commands, body, board, None, Service(os.environ), prepare=lambda: None)
    status = supervisor.run()
    if supervisor.problem:
        print(supervisor.problem, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
