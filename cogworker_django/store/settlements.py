"""How each fate of a job is written: the one place that knows which commands a verdict is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.state import State
from cogworker_django.store.attempts import Attempt, Attempts
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.jobsets import JobSets
from cogworker_django.store.keys import Keys
from cogworker_django.store.record import Record
from cogworker_django.store.settlement import Command, Filing, Settlement, delete_if_owner, expire_if_owner
from cogworker_django.store.statistics import DROPPED, Counted
from cogworker_django.store.unsettled import record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The job that a settlement is about."""

    token: str
    """The delivery token."""
    jid: str
    orphaned: bool = False
    """Whether it may have an orphan counter."""
    lock: tuple[str, str] | None = None
    """The digest of a unique job's lock, and the id by which the job holds it."""
    record: Record | None = None
    """What people are told about the run."""
    entry: tuple[str, int | None] | None = None
    """The name and the slot of the periodic entry that it is a run of; no slot when somebody ran it by hand."""


class Settlements:
    """Builds settlements; writes nothing itself.

    Args:
        keys: the names of the keys.
        attempts: builds the commands of the attempts log.
        jobsets: builds the trims of dead.
        clock: Redis's time, for due times and times of death.
        lock_ttl: seconds that the lock of a unique job lasts after its due time.
    """

    def __init__(self, keys: Keys, attempts: Attempts, jobsets: JobSets, clock: RedisClock, *, lock_ttl: float) -> None:
        self._keys = keys
        self._attempts = attempts
        self._jobsets = jobsets
        self._clock = clock
        self._lock_ttl = lock_ttl

    def recorded(self, token: str, record: Record) -> Settlement:
        """A success with nothing to clear: only people are told of it."""
        return Settlement(token=token, jid=record.jid, kind=Counted.PROCESSED, record=record, plain=True)

    def success(self, job: Subject) -> Settlement:
        """A success with something to clear: the attempts of earlier failures, the orphan counter, a lock."""
        beside = [*self._attempts.cleared(job.jid), *self._uncounted(job), *self._freed(job)]
        beside += self._entry_told(job, State.COMPLETE)
        return Settlement(token=job.token, jid=job.jid, kind=Counted.PROCESSED, beside=beside, record=job.record)

    def retry(self, job: Subject, entry: bytes, delay: float, attempt: Attempt) -> Settlement:
        """A failure that runs again after `delay` seconds on Redis's clock (reference, 12.3)."""
        filing = Filing(set=SetName.RETRY, score=self._clock.now() + delay, entry=entry)
        beside = [*self._attempts.recorded(job.jid, attempt), *self._uncounted(job), *self._kept(job, delay)]
        beside += self._entry_told(job, State.RETRYING)
        return self._failure(job, filing, beside=beside, outlook=f"runs again in {delay:.0f} s")

    def dead(
        self, job: Subject, entry: bytes, attempt: Attempt | None, settled: Callable[[], None] | None
    ) -> Settlement:
        """A failure that ends in dead; `settled` is called once this process's write has put it there."""
        now = self._clock.now()
        beside = [*self._attempts.recorded(job.jid, attempt)] if attempt else []
        beside += [*self._uncounted(job), *self._freed(job), *self._entry_told(job, State.FAILED)]
        beside += [*self._jobsets.dead_trim_commands(now)]
        filing = Filing(set=SetName.DEAD, score=now, entry=entry)
        return self._failure(job, filing, beside=beside, outlook="goes to dead", settled=settled)

    def discarded(self, job: Subject, attempt: Attempt) -> Settlement:
        """A failure that its hook dropped: counted, in the attempts log, and nowhere else."""
        beside = [*self._attempts.recorded(job.jid, attempt), *self._uncounted(job), *self._freed(job)]
        return Settlement(
            token=job.token,
            jid=job.jid,
            kind=Counted.FAILED,
            beside=[*beside, *self._entry_told(job, State.FAILED)],
            outlook="is dropped by its hook",
            record=job.record,
        )

    def has_passed(self, moment: float) -> bool:
        """Whether a time, in epoch seconds, has passed on Redis's clock."""
        return self._clock.until(moment) < 0

    def dropped(self, job: Subject, state: State, outlook: str) -> Settlement:
        """A job that shall not run, or was cancelled while it did: it has left for good, and is no failure.

        Args:
            job: the job.
            state: why: `EXPIRED` or `CANCELLED`.
            outlook: the same in words.
        """
        beside = [*self._attempts.cleared(job.jid), *self._uncounted(job), *self._freed(job)]
        beside += self._entry_told(job, state)
        return Settlement(token=job.token, jid=job.jid, kind=DROPPED, beside=beside, outlook=outlook, record=job.record)

    def handed_over(self, settlement: Settlement) -> Settlement:
        """The same failure as a record for other processes, should Redis refuse to file it until this one ends
        (reference, 10.5). Its death hooks are theirs then.
        """
        assert settlement.filing is not None
        record = record_of(settlement.filing).decode()
        essential: list[Command] = [["RPUSH", self._keys.unsettled, record]]
        return replace(settlement, essential=essential, filing=None, outlook="is handed over", settled=None)

    def _failure(self, job: Subject, filing: Filing, **fields: Any) -> Settlement:
        key = {SetName.RETRY: self._keys.retry, SetName.DEAD: self._keys.dead}[SetName(filing.set)]
        essential: list[Command] = [["ZADD", key, f"{filing.score:.6f}", filing.entry.decode()]]
        return Settlement(
            token=job.token,
            jid=job.jid,
            kind=Counted.FAILED,
            essential=essential,
            filing=filing,
            record=job.record,
            **fields,
        )

    def _uncounted(self, job: Subject) -> list[Command]:
        """A job that got to finish did not kill its process (reference, R38)."""
        return [["DEL", self._keys.orphanings(job.jid)]] if job.orphaned else []

    def _entry_told(self, job: Subject, outcome: State) -> list[Command]:
        """What became of the last run of a periodic entry."""
        if job.entry is None:
            return []
        name, slot = job.entry
        told = {"jid": job.jid, "slot": slot, "outcome": outcome, "finished_at": self._clock.now()}
        return [["HSET", self._keys.periodic_runs, name, codec.encode(told).decode()]]

    def _freed(self, job: Subject) -> list[Command]:
        """The job has left for good: others like it may come (reference, 17.2)."""
        return [delete_if_owner(self._keys.unique(job.lock[0]), job.lock[1])] if job.lock else []

    def _kept(self, job: Subject, delay: float) -> list[Command]:
        """The job comes back: its lock lasts from then on (reference, 17.4)."""
        if not job.lock:
            return []
        return [expire_if_owner(self._keys.unique(job.lock[0]), job.lock[1], delay + self._lock_ttl)]
