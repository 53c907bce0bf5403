"""Tries every point of a scenario: strikes there, has another process put things right, and checks every rule."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.checker import Evidence, extra_runs, faults, litter
from tests.scenarios.crash.scenes import Scene, acting
from tests.scenarios.crash.tap import Mode, Position, Tap
from tests.scenarios.crash.world import PATIENCE, World

TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, kw_only=True)
class Point:
    """One place to strike."""

    scene: Scene
    number: int
    """Of the command, from 1; 0 strikes nowhere."""
    position: Position
    mode: Mode

    def __str__(self) -> str:
        return f"{self.scene.name!r} --only {self.mode}:{self.position}:{self.number}"


@dataclass(kw_only=True)
class Result:
    """What came of it."""

    scene: str
    mode: str
    commands: list[str]
    """What the acting process had sent by its end."""
    faults: list[str]
    """Broken rules, each with how to try this point again."""
    lost: int = 0
    extra: int = 0
    """Runs more than one, all of them of jobs that had begun and were not settled when their process died."""
    recovery: float = 0.0
    """Seconds until another process had put everything right."""

    def as_dict(self) -> dict[str, Any]:
        """For a report that crosses processes."""
        return asdict(self)


def attempt(point: Point, url: str, prefix: str, directory: Path) -> Result:
    """Try one point, in a world of its own."""
    world = World(url, prefix, directory)
    result = Result(scene=point.scene.name, mode=str(point.mode), commands=[], faults=[])
    try:
        point.scene.prepare(world)
        _play(point, world)
        result.commands = _commands(directory)
        point.scene.aftermath(world)
        result.recovery = world.rescue()
        _judge(point, world, result)
    except AssertionError as error:
        result.faults.append(f"{point}: {str(error)[-3000:]}")
    finally:
        world.redis.close()
    return result


def _play(point: Point, world: World) -> None:
    tap = Tap(point.number, point.position, point.mode)

    def strike() -> None:
        tap.install()
        tap.commands = Journal(world.gate.parent / "commands")

    if point.scene.act is None:
        status = _watch(point.scene, world, world.fork_worker(strike, "actor"))
    else:
        status = world.status(world.fork(acting(point.scene, world, strike), "actor"), "actor")
    world.note_risk()
    if point.mode is Mode.ERROR or point.number == 0:
        assert status == 0, f"the process ended with {status}: {world.log('actor')}"
    assert TRACEBACK not in world.log("actor"), world.log("actor")


class Journal(list[str]):
    """A list that is also a file, which outlives the process.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(self, word: str) -> None:
        """Adds a line."""
        super().append(word)
        os.write(self._file, f"{word}\n".encode())


def _commands(directory: Path) -> list[str]:
    path = directory / "commands"
    return path.read_text(encoding="ascii").splitlines() if path.exists() else []


def _watch(scene: Scene, world: World, child: int) -> int:
    """Tells a worker to stop when nothing is left to do; its status when it has ended, by itself or not."""
    finished = _has_begun(world) if scene.stop_early else world.is_quiet
    told, began = False, time.monotonic()
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if not told and " started: " in world.log("actor") and finished():
            os.kill(child, signal.SIGTERM)
            told = True
        if time.monotonic() - began > PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"the process does not end: {world.log('actor')}")
        time.sleep(0.01)


def _has_begun(world: World) -> Callable[[], bool]:
    return lambda: sum(run.ended is None for run in world.ledger.runs()) == 2


def _judge(point: Point, world: World, result: Result) -> None:
    left, runs = world.snapshot(), world.ledger.runs()
    accepted = world.accepted + _confirmed(world)
    at_risk = world.at_risk if point.mode is Mode.KILL else {}
    if point.scene.stop_early:
        # What outlasts the stop goes back to its queue and runs again, as promised.
        at_risk = dict.fromkeys(accepted[:2], 1)
    evidence = Evidence(
        accepted=accepted,
        # A push that was struck: its jobs may be there.
        unknown=3_000 if point.scene.act else world.unknown,
        runs=runs,
        left=left,
        at_risk=at_risk,
        dropped=accepted if point.scene.may_vanish else (),
        processed=world.count("processed"),
        failed=world.count("failed"),
        buried=world.buried,
    )
    found = [*faults(evidence), *litter(world.redis, world.prefix)]
    if world.slots:
        fired = {run.jid for run in runs} | left.places.keys()
        found += [f"{len(fired)} jobs of {world.slots} slots"] * (len(fired) != world.slots)
    result.lost = sum("were lost" in fault for fault in found)
    result.extra = extra_runs(runs).total()
    result.faults += [f"{point}: {fault}" for fault in found]


def _confirmed(world: World) -> list[str]:
    path = world.gate.parent / "accepted"
    return path.read_text(encoding="ascii").split() if path.exists() else []


def points_of(scene: Scene, mode: Mode, commands: int) -> list[Point]:
    """Every point of a scenario that sends so many commands."""
    return [
        Point(scene=scene, number=number, position=position, mode=mode)
        for number in range(1, commands + 1)
        for position in Position
    ]
