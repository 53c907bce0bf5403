"""One place of a swarm: when the next process comes."""

from __future__ import annotations

import time

import pytest

from cogworker_django.process.condition import Condition
from cogworker_django.process.link import SlotRow, Table, pair
from cogworker_django.swarm.slot import HEALTHY, Child, Slot, State, delay_after


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def lived(slot: Slot, clock: list[float], seconds: float, *, expected: bool = False) -> float:
    """A process lives in a slot for a time; when the next one comes."""
    here, there = pair()
    slot.filled(Child(4_000_000, here))
    clock[0] += seconds
    here.close()
    there.close()
    return slot.emptied(expected=expected)


def test_constant_crashes_wait_longer_and_longer() -> None:
    """W4."""
    assert [delay_after(crashes) for crashes in range(1, 10)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert delay_after(10_000) == 60


def test_each_quick_end_counts_and_a_healthy_life_forgets_them(clock: list[float]) -> None:
    """W4, W6."""
    slot = Slot(0)
    assert [lived(slot, clock, 1.0) for _ in range(4)] == [0, 1, 2, 4]
    assert lived(slot, clock, HEALTHY) == 0
    assert [lived(slot, clock, HEALTHY - 1) for _ in range(3)] == [0, 1, 2]


def test_a_healthy_life_forgets_them_however_it_ends(clock: list[float]) -> None:
    """W6."""
    slot = Slot(0)
    assert [lived(slot, clock, 1.0) for _ in range(3)] == [0, 1, 2]
    assert lived(slot, clock, 1.0, expected=True) == 0
    assert lived(slot, clock, 1.0) == 4, "a short one is no sign of health"
    lived(slot, clock, HEALTHY, expected=True)
    assert lived(slot, clock, 1.0) == 0


def test_a_process_that_does_not_listen_hears_later_how_the_swarm_is_then() -> None:
    here, there = pair()
    child = Child(4_000_000, here)
    tables = [Table(1, [SlotRow(number, "x" * 10_000)]) for number in range(200)]
    for table in tables:
        child.show(table)
    heard = there.hear()
    assert 0 < len(heard) < 200
    while (more := there.hear()) or heard[-1] != tables[-1]:
        heard += more
        child.show(tables[-1])
    child.show(tables[-1])
    assert there.hear() == [], "it knows"
    assert len(heard) < 100, "what has changed since was not kept for it"
    here.close()
    there.close()


def test_the_next_process_is_due_after_the_delay(clock: list[float]) -> None:
    """W5."""
    slot = Slot(0)
    for _ in range(3):
        delay = lived(slot, clock, 1.0)
    assert delay == 2
    assert slot.due == clock[0] + 2


def test_who_was_told_to_leave_is_no_crash(clock: list[float]) -> None:
    slot = Slot(0)
    for _ in range(5):
        assert lived(slot, clock, 1.0, expected=True) == 0
    assert lived(slot, clock, 1.0) == 0


def test_a_slot_says_how_it_is() -> None:
    slot = Slot(3)
    assert str(slot.state) == "waiting"
    here, there = pair()
    child = Child(4_000_000, here)
    slot.filled(child)
    assert str(slot.state) == "starting"
    child.condition = Condition(pid=4_000_000)
    assert str(slot.state) == "starting"
    child.condition = Condition(pid=4_000_000, identity="h:4:a")
    assert str(slot.state) == "running"
    assert (slot.is_up, slot.row().pid) == (True, child.pid)
    child.stop(60.0)
    assert str(slot.state) == "stopping"
    assert slot.row().state == "stopping"
    slot.finish(State.RETIRED)
    assert (slot.row().state, slot.row().pid, slot.row().starts) == ("retired", None, 1)
    assert slot.is_up
    here.close()
    there.close()
