"""Comparing what the server holds for this process with what the process holds itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from cogworker_django.core.errors import RedisRefused, RedisUnavailable
from cogworker_django.store.trips import Trips, lane_in, number_of
from cogworker_django.worker.buffer import Buffer
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.hold import Hold

logger = logging.getLogger("cogworker")


class Strays:
    """Sets the two right, with the exchange's lock held.

    Args:
        trips: reads the process's hash.
        hold: what the process has in hand.
        buffer: what of it has not started.
    """

    def __init__(self, trips: Trips, hold: Hold, buffer: Buffer) -> None:
        self._trips = trips
        self._hold = hold
        self._buffer = buffer

    def reconcile(self) -> None:
        """Drops jobs that others have taken over, and takes up those that arrived without our hearing of it.

        Raises:
            RedisUnavailable: nothing has changed.
        """
        # As of before the question: the process may be frozen until long after the answer.
        asked = time.monotonic()
        held = self.held()
        strays = sorted(held - self._hold.jobs.keys(), key=number_of)
        raws = self._trips.raw(strays)
        self._drop_lost(held, asked)
        self._adopt(strays, raws, asked)

    def held(self) -> set[str]:
        """The tokens of what the server holds for this process; its hash is written anew if it was overwritten.

        Raises:
            RedisUnavailable: nothing has changed.
            RedisRefused: the same.
        """
        try:
            return self._trips.held()
        except RedisUnavailable:
            raise
        except RedisRefused:
            # Something has overwritten the hash: what was in it is known here, and nobody else would know it again.
            actual = self._trips.restore({token: job.raw for token, job in self._hold.jobs.items()})
            if actual is None:
                raise
            logger.error("this process's in-progress hash was a %s: it was moved away and written anew", actual)
            return self._trips.held()

    def _drop_lost(self, held: set[str], asked: float) -> None:
        jobs = self._buffer.empty()
        self._hold.drop([job.token for job in jobs if job.token not in held])
        self._buffer.renew([job for job in jobs if job.token in held], asked)

    def _adopt(self, tokens: Sequence[str], raws: Sequence[bytes | None], asked: float) -> None:
        strays = [
            Delivery(number_of(token), lane_in(token), raw, asked, True)
            for token, raw in zip(tokens, raws, strict=True)
            if raw is not None
        ]
        if strays:
            logger.warning("%d jobs had been fetched without this process hearing of it; they run now", len(strays))
        self._hold.add(strays)
        self._buffer.extend(strays)
