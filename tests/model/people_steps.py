"""What applications and people do: they push, move, delete, pause, and damage keys."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from cogworker_django.core.dispatch import Push
from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.graduation import Graduation
from cogworker_django.store.jobset_reader import SetName
from tests.model.books import FUTURE, PAST, QUEUES
from tests.model.machine import (
    ENOUGH,
    Machine,
    all_sets,
    damaged,
    filed,
    places,
    plenty,
    queue_names,
    times,
    waiting_sets,
)
from tests.stores import jids, raw_job

BESIDE = ("bell:low", "schedule_bell", "careful:default", "orphaned")
"""Keys that tell where to look, and hold no job."""


class PeopleSteps(Machine):
    """Each step to the store and to the books. There are jobs from the beginning, always some and never many, so that
    each step finds what it needs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sound = list(BESIDE)
        for queue, at in zip(QUEUES, (PAST, FUTURE), strict=True):
            self.push(queue, 5)
            self.push_at(queue, at)

    @precondition(lambda self: not plenty(self))
    @rule(queue=queue_names, number=st.integers(1, 3))
    def push(self, queue: str, number: int) -> None:
        pushes = [Push({"queue": queue}, self._new(queue), None, None) for _ in range(number)]
        if queue in self.books.damaged:
            with pytest.raises(RedisRefused):
                self.store.queues.push(pushes)
        else:
            self.store.queues.push(pushes)
            self.books.queues[queue][:0] = reversed(jids([push.raw for push in pushes]))

    @precondition(lambda self: len(self.books.sets["schedule"]) < ENOUGH)
    @rule(queue=queue_names, at=times)
    def push_at(self, queue: str, at: float) -> None:
        raw = self._new(queue)
        self.store.queues.push([Push({"queue": queue}, raw, None, at)])
        self.books.sets["schedule"][jids([raw])[0]] = at

    @precondition(lambda self: not self.books.paused)
    @rule(queue=st.sampled_from([*QUEUES, "*"]))
    def pause(self, queue: str) -> None:
        self.store.queue_reader.pause(queue)
        self.books.paused.add(queue)

    @precondition(lambda self: self.books.paused)
    @rule(at=places)
    def resume(self, at: int) -> None:
        queue = sorted(self.books.paused)[at % len(self.books.paused)]
        self.store.queue_reader.resume(queue)
        self.books.paused.discard(queue)

    @precondition(plenty)
    @rule(queue=queue_names, at=places, everything=st.booleans())
    def delete(self, queue: str, at: int, everything: bool) -> None:
        jobs = self.books.queues[queue]
        if everything and queue not in self.books.damaged:
            assert self.store.queue_reader.clear(queue) == len(jobs)
            jobs.clear()
        elif jobs:
            assert self.store.queue_reader.delete(queue, jobs.pop(at % len(jobs)))

    @precondition(filed)
    @rule(name=all_sets, at=places)
    def retry_by_hand(self, name: str, at: int) -> None:
        job, raw = self._entry(name, at)
        queue = json.loads(raw)["queue"]
        [outcome] = Graduation(self.store.jobsets).requeue(SetName(name), [raw])
        assert (outcome == "gone") == (job not in self.books.sets[name])
        assert (outcome == "moved") == self.books.enqueue(name, job, queue)

    @precondition(filed)
    @rule(name=waiting_sets, at=places)
    def kill(self, name: str, at: int) -> None:
        job, raw = self._entry(name, at)
        known = self.books.sets[name].pop(job, None)
        assert self.store.jobsets.kill(SetName(name), [raw]) == ["gone" if known is None else "moved"]
        if known is not None:
            self.books.sets["dead"][job] = time.time()

    @precondition(filed)
    @rule(name=all_sets, at=places, when=times)
    def reschedule(self, name: str, at: int, when: float) -> None:
        job, raw = self._entry(name, at)
        known = self.books.sets[name].pop(job, None)
        assert self.store.jobsets.reschedule(SetName(name), raw, at=when) == ("gone" if known is None else "moved")
        if known is not None:
            self.books.sets["retry" if name == "dead" else name][job] = when

    @precondition(filed)
    @rule(name=all_sets, at=places)
    def remove(self, name: str, at: int) -> None:
        job, raw = self._entry(name, at)
        known = self.books.sets[name].pop(job, None)
        assert self.store.jobsets.remove(SetName(name), [raw]) == (known is not None)

    @precondition(lambda self: not (self.books.damaged or all(self.books.queues.values())))
    @rule()
    def damage(self) -> None:
        """An empty one, since the jobs in it would be gone with it."""
        queue = next(name for name, jobs in self.books.queues.items() if not jobs)
        self.client.set(f"t:queue:{queue}", "no list")
        self.books.damaged.add(queue)

    @precondition(damaged)
    @rule(queue=queue_names)
    def quarantine(self, queue: str) -> None:
        moved = self.store.guard.quarantine(f"t:queue:{queue}", "list")
        assert (moved is not None) == (queue in self.books.damaged)
        self.books.damaged.discard(queue)

    @precondition(lambda self: self._sound)
    @rule(at=places)
    def damage_what_stands_beside(self, at: int) -> None:
        """Of that nothing depends."""
        key = self._sound.pop(at % len(self._sound))
        self.client.delete(f"t:{key}")
        self.client.hset(f"t:{key}", "no", "value of ours")

    def _entry(self, name: str, at: int) -> tuple[str, bytes]:
        """An entry of a set, as stored; of an empty one an entry that is gone."""
        raws: Any = self.client.zrange(f"t:{name}", 0, -1)
        raw: bytes = raws[at % len(raws)] if raws else raw_job()
        return jids([raw])[0], raw
