"""The end of a process: what has finished is settled, what has not goes back, and nothing is left of it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from cogworker_django.core.errors import CogworkerError
from cogworker_django.store.store import Store
from cogworker_django.worker.exchange import Chore, Exchange
from cogworker_django.worker.handout import Handout
from cogworker_django.worker.runner import Runner

logger = logging.getLogger("cogworker")

FLUSH = 3.0
"""Seconds that it tries to settle what has finished: a process that hangs on would be killed."""
HAND_OVER = 1.0
"""Seconds for handing over what cannot be filed."""
LAST_FLUSH = 1.0
"""Seconds for what has ended since."""
LAST_HOOKS = 5.0
"""Seconds for death hooks that no thread has come to: code of users, which must not keep a process from its end."""


class Closing:
    """The last steps of a process, on its main thread, while its processors go home.

    Args:
        store: Redis.
        identity: of this process.
        exchange: makes the trips.
        handout: what processors have left undone.
        runner: runs death hooks.
    """

    def __init__(self, store: Store, identity: str, exchange: Exchange, handout: Handout, runner: Runner) -> None:
        self._store = store
        self._identity = identity
        self._exchange = exchange
        self._handout = handout
        self._runner = runner

    def settle_and_put_back(self) -> bool:
        """Settles what has finished, hands over what cannot be filed, puts back what has not finished.

        Returns:
            Whether Redis was there for it. If not, this process stays listed, so that others find what it leaves,
            and a stop does not wait for Redis once more.
        """
        self._flush(FLUSH)
        self._hand_over()
        everything_back = self._put_back()
        # What ended in the meantime was kept back by the step before.
        if not self._flush(LAST_FLUSH) and not self._hand_over():
            logger.error("some finished jobs could not be settled; they run again after the orphan threshold")
        return everything_back

    def run_hooks(self) -> None:
        """Runs the death hooks that no thread has come to."""
        chores = self._handout.leftover()
        if not chores:
            return
        thread = threading.Thread(target=self._run, args=(chores,), name="cogworker-hooks", daemon=True)
        thread.start()
        thread.join(LAST_HOOKS)
        if thread.is_alive():
            logger.error("death hooks have not ended in %g s, and the process ends without them", LAST_HOOKS)

    def forget(self) -> None:
        """Takes the process off."""
        try:
            self._store.processes.forget(self._identity)
        except CogworkerError as error:
            logger.error("this process stays listed until its presence expires: %s", error)

    def _flush(self, seconds: float) -> bool:
        """Settles all that has finished, trying for a time; whether that is everything."""
        hold, deadline = self._exchange.hold, time.monotonic() + seconds
        with self._exchange.lock:
            hold.retry_refused()
            while hold.finished and time.monotonic() < deadline:
                time.sleep(max(0.0, min(self._exchange.resting, deadline - time.monotonic())))
                self._exchange.trip(free=0)
        return not (hold.finished or hold.refused)

    def _hand_over(self) -> bool:
        """Leaves the failures that Redis refuses to file to other processes; whether nothing is unsettled now."""
        with self._exchange.lock:
            number = self._exchange.hold.hand_over(self._store.settlements.handed_over)
        if not number:
            return not (self._exchange.hold.finished or self._exchange.hold.refused)
        logger.warning("%d failures cannot be filed and are handed over to other processes", number)
        return self._flush(HAND_OVER)

    def _put_back(self) -> bool:
        try:
            moved = self._exchange.requeue_rest()
        except CogworkerError as error:
            logger.error("the unfinished jobs stay in progress and will be recovered by others: %s", error)
            return False
        if moved:
            logger.warning("put %d unfinished jobs back on their queues", moved)
        return True

    def _run(self, chores: Sequence[Chore]) -> None:
        for chore in chores:
            try:
                self._runner.aside(chore)
            except BaseException:
                logger.exception("a death hook met an error")
