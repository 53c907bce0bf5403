"""What worker processes do: they fetch, settle, stop, die, and put right what others have left."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from cogworker_django.store.attempts import Attempt
from cogworker_django.store.graduation import Graduation
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.settlement import Filing, Settlement
from cogworker_django.store.settlements import Subject
from cogworker_django.store.unsettled import filing_of
from cogworker_django.worker.delivery import Delivery
from tests.model.books import FUTURE, PAST, QUEUES
from tests.model.machine import (
    GONE,
    PROCESSES,
    Machine,
    filed,
    held,
    places,
    process_names,
    queued,
    silent,
    waiting_sets,
)
from tests.stores import jids, raw_job

ATTEMPT = Attempt(
    attempt=1,
    failed_at=1.0,
    outcome="retrying",
    error_class="E",
    error_message="",
    backtrace=[],
    host="",
    duration=None,
)


class ProcessSteps(Machine):
    """Each step to the store and to the books; each process has jobs in hand from the beginning, if there are any."""

    def __init__(self) -> None:
        super().__init__()
        for name in PROCESSES:
            self.fetch(name, 3, list(QUEUES))

    @precondition(queued)
    @rule(name=process_names, wanted=st.integers(1, 3), names=st.permutations(QUEUES))
    def fetch(self, name: str, wanted: int, names: list[str]) -> None:
        found = self.travellers[name].fetch(wanted, *names)
        assert jids([raw for _, raw in found]) == self.books.fetch(self.books.processes[name], wanted, names)

    @precondition(held)
    @rule(name=process_names, at=places, fate=st.sampled_from(["done", "success", "discarded"]))
    def finish(self, name: str, at: int, fate: str) -> None:
        number, token, jid, _ = self._held(name, at)
        if fate == "done":
            self.travellers[name].go(done=[token])
            # It clears no counter, and is for jobs that have none.
            counted = self.books.orphanings[jid]
            self.books.settle(self.books.processes[name], number, "processed")
            self.books.orphanings[jid] = counted
            return
        settlements, subject = self.store.settlements, Subject(token=token, jid=jid, orphaned=True)
        verdict = settlements.success(subject) if fate == "success" else settlements.discarded(subject, ATTEMPT)
        self._settle(name, number, verdict)

    @precondition(held)
    @rule(name=process_names, at=places, dead=st.booleans(), later=st.booleans())
    def fail(self, name: str, at: int, dead: bool, later: bool) -> None:
        number, jid, verdict, filing = self._failure(name, at, dead, later)
        if self._settle(name, number, verdict) is not None:
            self.books.sets[filing.set][jid] = filing.score

    @precondition(held)
    @rule(name=process_names, at=places, dead=st.booleans(), later=st.booleans())
    def hand_over(self, name: str, at: int, dead: bool, later: bool) -> None:
        number, jid, verdict, filing = self._failure(name, at, dead, later)
        if self._settle(name, number, self.store.settlements.handed_over(verdict)) is not None:
            self.books.unsettled.append((jid, filing.set, filing.score))

    @precondition(lambda self: self.books.unsettled)
    @rule()
    def file(self) -> None:
        record = next(self.store.unsettled.waiting())
        jid, name, score = self.books.unsettled.pop(0)
        assert self.store.unsettled.file(record, filing_of(record), jid)
        self.books.sets[name][jid] = score
        del self.books.orphanings[jid]

    @precondition(held)
    @rule(name=process_names)
    def fall_silent(self, name: str) -> None:
        """As one that was killed; it may have been frozen only, and act again."""
        self.client.hset("t:beats", name, "1.000000 0 10")
        self.books.processes[name].alive = False

    @precondition(silent)
    @rule(name=process_names)
    def recover(self, name: str) -> None:
        process = self.books.processes[name]
        recovered = self.store.recovery.recover(name)
        if process.alive:
            assert recovered is None
            return
        assert recovered is not None
        condemned = self.books.recover(process)
        assert [self._number(token) for token in recovered.condemned] == condemned

    @precondition(held)
    @rule(name=process_names)
    def die(self, name: str) -> None:
        """Two steps in one, so that it happens often: the process falls silent, and is recovered at once."""
        self.fall_silent(name)
        self.recover(name)

    @precondition(silent)
    @rule(name=process_names, at=places)
    def bury(self, name: str, at: int) -> None:
        """Whoever has read the token before may do so long after, when the process is back."""
        number, token, jid, raw = self._held(name, at)
        process = self.books.processes[name]
        buried = self.store.recovery.bury(name, token, raw)
        assert buried == (not process.alive and number in process.held)
        if buried:
            del process.held[number]
            self.books.sets["dead"][jid] = time.time()
            self.books.failed += 1
            del self.books.orphanings[jid]

    @precondition(held)
    @rule(name=process_names, at=places)
    def die_for_the_last_time(self, name: str, at: int) -> None:
        self.fall_silent(name)
        self.bury(name, at)

    @precondition(held)
    @rule(name=process_names, at=places)
    def give_back(self, name: str, at: int) -> None:
        process = self.books.processes[name]
        numbers = sorted(process.held)[at:]
        jobs = [Delivery(number, process.held[number][0], b"", 0.0, False) for number in numbers]
        self.travellers[name].trips.give_back(jobs)
        self.books.put_back(process, numbers)

    @precondition(held)
    @rule(name=process_names)
    def stop(self, name: str) -> None:
        process = self.books.processes[name]
        self.travellers[name].trips.requeue_all((), frozenset())
        self.books.put_back(process, list(process.held))
        assert self.store.processes.forget(name) == (not process.held)
        process.alive = process.alive and bool(process.held)

    @precondition(filed)
    @rule(name=waiting_sets)
    def let_become_due(self, name: str) -> None:
        due = [(job, self._queue_of(name, job)) for job in self.books.due(name)]
        Graduation(self.store.jobsets).due(SetName(name))
        for job, queue in due:
            if not self.books.enqueue(name, job, queue):
                self.books.sets[name][job] = FUTURE

    def _held(self, name: str, at: int) -> tuple[int, str, str, bytes]:
        """A token of the process: one that it holds, or one that is no longer its own, and the job."""
        held = self.books.processes[name].held
        if not held or at == GONE:
            return 0, "0:default", f"{0:024}", raw_job()
        number = sorted(held)[at % len(held)]
        queue, job = held[number]
        token = f"{number}:{queue}"
        raw: Any = self.client.hget(f"t:inprogress:{name}", token)
        return number, token, job, raw

    def _failure(self, name: str, at: int, dead: bool, later: bool) -> tuple[int, str, Settlement, Filing]:
        number, token, jid, raw = self._held(name, at)
        subject = Subject(token=token, jid=jid, orphaned=True)
        if dead:
            verdict = self.store.settlements.dead(subject, raw, ATTEMPT, None)
        else:
            delay = FUTURE if later else -PAST
            verdict = self.store.settlements.retry(subject, raw, delay, ATTEMPT)
        assert verdict.filing is not None
        return number, jid, verdict, verdict.filing

    def _settle(self, name: str, number: int, verdict: Settlement) -> str | None:
        [result] = self.travellers[name].go(verdicts=[verdict]).results
        job = self.books.settle(self.books.processes[name], number, str(verdict.kind))
        assert result == ("gone" if job is None else "settled")
        return job
