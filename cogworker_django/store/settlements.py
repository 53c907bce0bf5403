"""How each fate of a job is written: the one place that knows which commands a verdict is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cogworker_django.store.attempts import Attempt, Attempts
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.jobsets import JobSets
from cogworker_django.store.keys import Keys
from cogworker_django.store.settlement import Command, Filing, Settlement
from cogworker_django.store.statistics import Counted
from cogworker_django.store.unsettled import record_of


class Settlements:
    """Builds settlements; writes nothing itself.

    Args:
        keys: the names of the keys.
        attempts: builds the commands of the attempts log.
        jobsets: builds the trims of dead.
        clock: Redis's time, for due times and times of death.
    """

    def __init__(self, keys: Keys, attempts: Attempts, jobsets: JobSets, clock: RedisClock) -> None:
        self._keys = keys
        self._attempts = attempts
        self._jobsets = jobsets
        self._clock = clock

    def success(self, token: str, jid: str, *, orphaned: bool) -> Settlement:
        """A success with something to clear: the attempts of earlier failures, the orphan counter."""
        beside = [*self._attempts.cleared(jid), *self._uncounted(jid, orphaned)]
        return Settlement(token=token, jid=jid, kind=Counted.PROCESSED, beside=beside)

    def retry(self, token: str, jid: str, entry: bytes, delay: float, attempt: Attempt, orphaned: bool) -> Settlement:
        """A failure that runs again after `delay` seconds on Redis's clock (reference, 12.3)."""
        filing = Filing(set=SetName.RETRY, score=self._clock.now() + delay, entry=entry)
        beside = [*self._attempts.recorded(jid, attempt), *self._uncounted(jid, orphaned)]
        outlook = f"runs again in {delay:.0f} s"
        return self._failure(token, jid, filing, beside=beside, outlook=outlook)

    def dead(
        self,
        token: str,
        jid: str,
        entry: bytes,
        attempt: Attempt | None,
        orphaned: bool,
        settled: Callable[[], None] | None,
    ) -> Settlement:
        """A failure that ends in dead; `settled` is called once this process's write has put it there."""
        now = self._clock.now()
        beside = [*self._attempts.recorded(jid, attempt)] if attempt else []
        beside += [*self._uncounted(jid, orphaned), *self._jobsets.dead_trim_commands(now)]
        filing = Filing(set=SetName.DEAD, score=now, entry=entry)
        return self._failure(token, jid, filing, beside=beside, outlook="goes to dead", settled=settled)

    def discarded(self, token: str, jid: str, attempt: Attempt, orphaned: bool) -> Settlement:
        """A failure that its hook dropped: counted, in the attempts log, and nowhere else."""
        beside = [*self._attempts.recorded(jid, attempt), *self._uncounted(jid, orphaned)]
        return Settlement(token=token, jid=jid, kind=Counted.FAILED, beside=beside, outlook="is dropped by its hook")

    def handed_over(self, settlement: Settlement) -> Settlement:
        """The same failure as a record for other processes, should Redis refuse to file it until this one ends
        (reference, 10.5). Its death hooks are theirs then.
        """
        assert settlement.filing is not None
        record = record_of(settlement.filing).decode()
        essential: list[Command] = [["RPUSH", self._keys.unsettled, record]]
        return replace(settlement, essential=essential, filing=None, outlook="is handed over", settled=None)

    def _failure(self, token: str, jid: str, filing: Filing, **fields: Any) -> Settlement:
        key = {SetName.RETRY: self._keys.retry, SetName.DEAD: self._keys.dead}[SetName(filing.set)]
        essential: list[Command] = [["ZADD", key, f"{filing.score:.6f}", filing.entry.decode()]]
        return Settlement(token=token, jid=jid, kind=Counted.FAILED, essential=essential, filing=filing, **fields)

    def _uncounted(self, jid: str, orphaned: bool) -> list[Command]:
        """A job that got to finish did not kill its process (reference, R38)."""
        return [["DEL", self._keys.orphanings(jid)]] if orphaned else []
