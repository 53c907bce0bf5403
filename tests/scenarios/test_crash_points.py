"""A process is struck at every command that it sends: nothing is lost, and nothing is run again without cause.

`python -m tests.scenarios.crash` tries all points and prints the table; here a share of them, from a random one on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.scenarios.process import environment
from tests.support import ROOT

pytestmark = pytest.mark.slow

EVERY = {"kill": 2, "error": 4}
"""Which share is tried here."""
AT_LEAST = {"kill": 450, "error": 220}
"""Points that must have been tried."""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", ["kill", "error"])
def test_no_point_at_which_a_process_is_struck_loses_or_doubles_a_job(mode: str) -> None:
    every = 1 if os.environ.get("COGWORKER_SOAK") else EVERY[mode]
    kept = {name: os.environ[name] for name in ("COGWORKER_TEST_REDIS", "COGWORKER_SEED") if name in os.environ}
    run = subprocess.run(
        [sys.executable, "-m", "tests.scenarios.crash", "--mode", mode, "--every", str(every), "--json"],
        cwd=ROOT,
        env=environment(**kept),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout, run.stderr
    results: list[dict[str, Any]] = json.loads(run.stdout)
    faults = [fault for result in results for fault in result["faults"]]
    assert not faults, "\n".join(faults)
    assert run.returncode == 0, run.stderr
    assert len(results) >= AT_LEAST[mode]
    extra = sum(result["extra"] for result in results)
    slowest = max(result["recovery"] for result in results)
    print(f"{mode}: {len(results)} points, lost 0, {extra} explained extra runs, slowest recovery {slowest:.1f} s")
