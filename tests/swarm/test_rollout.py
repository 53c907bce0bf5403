"""One process after the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cogworker_django.process.condition import Condition
from cogworker_django.process.link import Link, pair
from cogworker_django.swarm.rollout import Rollout
from cogworker_django.swarm.slot import Child, Slot


class Stage:
    """Slots with children that exist on paper only."""

    def __init__(self) -> None:
        self.slots = [Slot(number) for number in range(2)]
        self.rollout = Rollout(self.slots, 60.0)
        self._links: list[Link] = []
        for slot in self.slots:
            self.fill(slot)

    def fill(self, slot: Slot) -> Child:
        """A child that works."""
        here, there = pair()
        self._links += [here, there]
        child = Child(4_000_000 + len(self._links), here)
        child.condition = Condition(pid=child.pid, identity="h:1:a")
        slot.filled(child)
        return child

    def close(self) -> None:
        for link in self._links:
            link.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()


def test_who_has_died_before_its_turn_is_replaced_once(stage: Stage) -> None:
    first, second = stage.slots
    assert stage.rollout.add(first)
    assert stage.rollout.add(second)
    assert not stage.rollout.add(second), "it is on the list"
    second.emptied(expected=False)
    later = stage.fill(second)
    stage.rollout.step()
    first.emptied(expected=True)
    stage.fill(first)
    for _ in range(3):
        stage.rollout.step()
    assert not later.told_to_leave
    assert not stage.rollout.goes_on
    assert stage.rollout.add(second), "it may ask for itself"


def test_an_empty_slot_is_not_on_the_list(stage: Stage) -> None:
    stage.slots[0].emptied(expected=False)
    assert not stage.rollout.add(stage.slots[0])
    assert not stage.rollout.goes_on
