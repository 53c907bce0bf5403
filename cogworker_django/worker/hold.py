"""What this process has fetched and not settled, and which of it has finished: its memory of what has run."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from cogworker_django.core.text import one_line
from cogworker_django.store.settlement import Settlement
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.outage import Sparing

logger = logging.getLogger("cogworker")

DONE_PER_TRIP = 1000
VERDICTS_PER_TRIP = 200
"""Bounds of what one trip settles: the script unpacks it, and nothing else runs on the server meanwhile."""
MAX_UNSETTLED = 500
"""While more verdicts than this wait, nothing is fetched: each is a job that a crash would run again."""
BYTES_PER_TRIP = 8 * 1024 * 1024
"""No further verdicts once those of a trip are larger together: the server refuses an argument above 512 MiB."""


class Hold:
    """Jobs in hand by token, and the verdicts that wait for a trip, in order.

    Processors add verdicts without a lock; everything else happens with the exchange's lock held.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, Delivery] = {}
        """Every job fetched and not settled: buffered, running, or waiting to be settled."""
        self.added = 0
        """How many jobs have come in so far."""
        self.done: deque[str] = deque()
        """Tokens of successes with nothing to write."""
        self.verdicts: deque[Settlement] = deque()
        self.refused: list[Settlement] = []
        """Verdicts that Redis refused to write; they wait for the next attempt."""
        self._sparing = Sparing()

    @property
    def finished(self) -> int:
        """How many verdicts are ready for a trip."""
        return len(self.done) + len(self.verdicts)

    @property
    def full(self) -> bool:
        """Whether so many verdicts wait, those that Redis refused included, that nothing more may be fetched."""
        return len(self.verdicts) + len(self.refused) > MAX_UNSETTLED

    def waiting(self) -> set[str]:
        """Tokens of jobs that have run and are not settled: they must never run again."""
        return {*self.done, *(settlement.token for settlement in (*self.verdicts, *self.refused))}

    def add(self, deliveries: Sequence[Delivery]) -> None:
        """Takes in what was fetched."""
        self.added += len(deliveries)
        self.jobs.update((delivery.token, delivery) for delivery in deliveries)

    def drop(self, tokens: Iterable[str]) -> None:
        """Forgets jobs that are no longer this process's."""
        for token in tokens:
            self.jobs.pop(token, None)

    def take(self) -> tuple[list[str], list[Settlement]]:
        """The verdicts for one trip, in order, taken out."""
        done = [self.done.popleft() for _ in range(min(len(self.done), DONE_PER_TRIP))]
        verdicts: list[Settlement] = []
        size = 0
        while self.verdicts and len(verdicts) < VERDICTS_PER_TRIP and size < BYTES_PER_TRIP:
            verdicts.append(self.verdicts.popleft())
            size += verdicts[-1].size
        return done, verdicts

    def restore(self, done: Sequence[str], verdicts: Sequence[Settlement]) -> None:
        """Puts the verdicts of a failed trip back where they were: whether it arrived is unknown, and a repeat of
        what arrived finds its token gone.
        """
        for settlement in verdicts:
            settlement.tried = True
        self.done.extendleft(reversed(done))
        self.verdicts.extendleft(reversed(verdicts))

    def settled(
        self, done: Sequence[str], verdicts: Sequence[Settlement], results: Sequence[str]
    ) -> list[Callable[[], None]]:
        """Forgets what a trip has settled.

        Returns:
            What is to be done now for the settled ones: death hooks.
        """
        self.drop(done)
        chores = []
        for settlement, result in zip(verdicts, results, strict=True):
            if result not in ("settled", "gone"):
                self._refused(settlement, result)
                continue
            self.jobs.pop(settlement.token, None)
            if result == "gone" and settlement.tried:
                continue  # most likely by the trip that failed
            if result == "gone":
                logger.warning("jid=%s is no longer this process's: its end changes nothing", one_line(settlement.jid))
            elif settlement.settled:
                chores.append(settlement.settled)
        return chores

    def retry_refused(self) -> None:
        """Gives the refused verdicts another trip."""
        self.verdicts.extend(self.refused)
        self.refused.clear()

    def hand_over(self, rewritten: Callable[[Settlement], Settlement]) -> int:
        """Has the refused failures written as records for other processes, each on its next trip; how many."""
        filings = [settlement for settlement in self.refused if settlement.filing]
        self.refused = [settlement for settlement in self.refused if not settlement.filing]
        self.verdicts.extend(map(rewritten, filings))
        return len(filings)

    def _refused(self, settlement: Settlement, error: str) -> None:
        self.refused.append(settlement)
        reason, jid = one_line(error, 200), one_line(settlement.jid)
        if self._sparing.may_say(reason):
            # There may be hundreds, each tried once a second.
            logger.error("the end of jid=%s could not be written and will be tried again: %s", jid, reason)
