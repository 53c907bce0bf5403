"""What a further process of a swarm costs: it shares what its parent has loaded."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from tests.scenarios.rig import Rig
from tests.scenarios.swarm import Swarm
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

MODULES, FUNCTIONS = 100, 60
SHARE = 0.4
"""Of the first process's proportional memory: what a further one may add."""
MODULE = """
{functions}

TABLE = {{str(number): [number, str(number) * 3] for number in range(500)}}
"""
FUNCTION = '''
def work_{number}(order, *, rate={number}, note="a text that stands for documentation"):
    """Does what functions of projects do."""
    total = sum(line["price"] * line["count"] for line in order["lines"])
    if total > rate:
        raise ValueError(f"{{total}} is above {{rate}}: {{note}}")
    return {{"total": total, "lines": len(order["lines"]), "rate": rate}}
'''


def write_project(folder: Path) -> list[str]:
    """Write a project of a hundred modules; their names."""
    package = folder / "heavy"
    package.mkdir()
    (package / "__init__.py").touch()
    body = MODULE.format(functions="\n".join(FUNCTION.format(number=number) for number in range(FUNCTIONS)))
    for number in range(MODULES):
        (package / f"module{number}.py").write_text(body, encoding="utf-8")
    return [f"heavy.module{number}" for number in range(MODULES)]


def proportional(pids: list[int]) -> float:
    """The memory of processes in MiB; what several share is counted once."""
    sizes: list[int] = [psutil.Process(pid).memory_full_info().pss for pid in pids]
    return sum(sizes) / 2**20


def settled(pids: list[int]) -> float:
    """The same once it stands still."""
    seen = [proportional(pids)]

    def still() -> bool:
        time.sleep(0.1)
        seen.append(proportional(pids))
        return max(seen[-5:]) - min(seen[-5:]) < 0.2

    eventually(still, 20, "memory to stand still", lambda: seen[-5:])
    return seen[-1]


def test_a_further_child_adds_little(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    rig.settings["IMPORTS"] = ["tests.scenarios.jobs", *write_project(tmp_path)]
    single = rig.worker()
    alone = settled([single.pid])
    rig.stop(single)
    sizes = []
    for number in (1, 2, 5):
        # With a limit, one process has a parent too.
        swarm = Swarm(rig, number, "--max-jobs", "1000000").complete()
        sizes.append(settled([swarm.parent.pid, *swarm.pids]))
        rig.stop(swarm.parent)
    further = (sizes[2] - sizes[1]) / 3
    print(
        f"{MODULES} modules: one worker alone {alone:.1f} MiB; a parent with one child {sizes[0]:.1f}, "
        f"with two {sizes[1]:.1f}, five {sizes[2]:.1f}; each further one "
        f"{further:.1f} MiB, {further / alone:.0%} of the first"
    )
    assert further <= SHARE * alone
