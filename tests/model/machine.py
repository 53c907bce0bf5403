"""What all steps share: the store, the books, and the comparison of the two after each step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from cogworker_django.store.store import Store
from tests.model.books import FUTURE, PAST, QUEUES, Books, Process
from tests.stores import jids, raw_job
from tests.trips import Traveller

PROCESSES = ("a", "b")
GONE = 7
"""Stands for a token that is no longer the process's."""
ENOUGH = 4
"""Jobs in one place: more are added only while there are not more, and deleted only while there are."""
queue_names = st.sampled_from(QUEUES)
process_names = st.sampled_from(PROCESSES)
waiting_sets = st.sampled_from(["schedule", "retry"])
all_sets = st.sampled_from(["schedule", "retry", "dead"])
places = st.integers(0, GONE)
times = st.sampled_from([PAST, FUTURE])


def queued(machine: Machine) -> bool:
    return any(machine.books.queues.values())


def plenty(machine: Machine) -> bool:
    return sum(map(len, machine.books.queues.values())) > ENOUGH


def held(machine: Machine) -> bool:
    return any(process.held for process in machine.books.processes.values())


def silent(machine: Machine) -> bool:
    return any(process.held and not process.alive for process in machine.books.processes.values())


def filed(machine: Machine) -> bool:
    return any(machine.books.sets.values())


def damaged(machine: Machine) -> bool:
    return bool(machine.books.damaged)


class Machine(RuleBasedStateMachine):
    """Does each step to the store and to the books."""

    store: Store
    client: redis.Redis
    looks: Iterator[int]
    """Counts the comparisons."""

    def __init__(self) -> None:
        super().__init__()
        self.client.flushall()
        self.books = Books(processes={name: Process() for name in PROCESSES})
        self.travellers = {name: Traveller(self.store, name) for name in PROCESSES}
        for traveller in self.travellers.values():
            traveller.go()
        self._jobs = 0

    @invariant()
    def each_job_is_where_the_books_say(self) -> None:
        """One look at all places at one moment."""
        next(self.looks)
        pipe = self.client.pipeline(transaction=True)
        sound = [name for name in QUEUES if name not in self.books.damaged]
        for name in sound:
            pipe.lrange(f"t:queue:{name}", 0, -1)
        for name in self.books.sets:
            pipe.zrange(f"t:{name}", 0, -1)
        for name in PROCESSES:
            pipe.hgetall(f"t:inprogress:{name}")
        pipe.lrange("t:unsettled", 0, -1)
        pipe.mget("t:stats:processed", "t:stats:failed")
        *found, records, counters = pipe.execute()
        queues, sets, hashes = found[: len(sound)], found[len(sound) : -2], found[-2:]
        assert [jids(raws) for raws in queues] == [self.books.queues[name] for name in sound]
        assert [set(jids(raws)) for raws in sets] == [set(jobs) for jobs in self.books.sets.values()]
        for held, name in zip(hashes, PROCESSES, strict=True):
            jobs = {self._number(token): jids([raw])[0] for token, raw in held.items()}
            assert jobs == {number: job for number, (_, job) in self.books.processes[name].held.items()}
        assert [json.loads(json.loads(record)["payload"])["jid"] for record in records] == [
            job for job, _, _ in self.books.unsettled
        ]
        assert [int(counter or 0) for counter in counters] == [self.books.processed, self.books.failed]

    def _new(self, queue: str) -> bytes:
        self._jobs += 1
        return raw_job(f"{self._jobs:024}", queue)

    def _queue_of(self, name: str, job: str) -> str:
        raws: Any = self.client.zrange(f"t:{name}", 0, -1)
        return next(str(json.loads(raw)["queue"]) for raw in raws if json.loads(raw)["jid"] == job)

    def _number(self, token: str | bytes) -> int:
        text = token.decode() if isinstance(token, bytes) else token
        return int(text.split(":")[0])
