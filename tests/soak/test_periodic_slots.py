"""Periodic entries over real minutes: processes are killed and Redis goes away at their turns."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.scenarios.conftest import StartRig
from tests.scenarios.crew import Crew
from tests.scenarios.rig import PREFIX
from tests.scenarios.waiting import eventually

MINUTES, ENTRIES = 5, 5
TURN = 1.5
"""Seconds before a minute's turn at which something happens."""


@pytest.mark.timeout(60 * (MINUTES + 4))
def test_each_minute_of_each_entry_has_one_job_whatever_happens_at_its_turn(
    start_rig: StartRig, tmp_path: Path
) -> None:
    """I8, case B029: a job that is run again after a kill is still the same job."""
    ticks = tmp_path / "ticks"
    entries = [
        {"cron": "* * * * *", "job": "tick", "name": f"entry {number}", "args": [str(ticks)]}
        for number in range(ENTRIES)
    ]
    rig = start_rig(persistent=True, PERIODIC=entries)
    crew = Crew(rig, 3)
    first = time.time() // 60 + 1
    for minute in range(MINUTES):
        time.sleep(max(0.0, 60 * (first + minute) - TURN - time.time()))
        victim = crew.anyone()
        if minute % 2:
            rig.away(2 * TURN)
        rig.kill(victim)
        crew.replace(victim)
    last = int(60 * (first + MINUTES - 1))
    eventually(
        lambda: all(int(slot) >= last for slot in rig.redis.hvals(f"{PREFIX}periodic:slots")), 20, "slots", rig.logs
    )
    crew.complete()
    eventually(lambda: not rig.queued(), 20, "an empty queue", rig.logs)
    jobs_of = Counter(
        (name, slot) for name, slot, _ in {tuple(line.split()) for line in ticks.read_text().splitlines()}
    )
    turns = {str(int(60 * (first + minute))) for minute in range(MINUTES)}
    for number in range(ENTRIES):
        slots = {slot: times for (name, slot), times in jobs_of.items() if name == f"entry{number}"}
        assert turns <= slots.keys()
        assert set(slots.values()) == {1}
    print(f"{MINUTES} minutes, {ENTRIES} entries: each fired once, with {MINUTES} kills and {MINUTES // 2} outages")
