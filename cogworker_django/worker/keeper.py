"""The thread that sees to it that nothing lies about while the processors are busy."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from cogworker_django.core.errors import CogworkerError
from cogworker_django.worker.exchange import Exchange
from cogworker_django.worker.gates import Alarm, WaitingRoom
from cogworker_django.worker.listener import Listener
from cogworker_django.worker.outage import Collapser

logger = logging.getLogger("cogworker")

SETTLE_AFTER = 0.002
"""Seconds that a verdict waits for company before it gets a trip of its own."""
GIVE_BACK_AFTER = 0.1
"""Seconds that a job waits in the buffer before it goes back to its queue for an idle process."""


class Keeper:
    """Settles verdicts after 2 ms, gives fetched jobs back after 100 ms, tells what runs long, and looks for foreign
    pushes when idle.

    Args:
        exchange: makes the trips.
        idle: the threads without work.
        listener: the one that waits at the bells.
        alarm: what wakes this thread.
        outages: where errors are reported.
        interval: seconds between two looks of an idle process (`FETCH_IDLE_MAX_INTERVAL`).
        long_runs: has the jobs that have been running for a while report that they do.
    """

    def __init__(
        self,
        exchange: Exchange,
        idle: WaitingRoom,
        listener: Listener,
        alarm: Alarm,
        outages: Collapser,
        *,
        interval: float,
        long_runs: Callable[[], None],
    ) -> None:
        self._exchange = exchange
        self._idle = idle
        self._listener = listener
        self._alarm = alarm
        self._outages = outages
        self.interval = interval
        self.seen = time.monotonic()
        """When it gave its last sign; the next one comes within its interval."""
        self._long_runs = long_runs
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="cogworker-keeper", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stopping = True
        self._alarm.ring()
        self._thread.join(timeout=1.0)

    def _loop(self) -> None:
        look_at = time.monotonic() + self.interval
        while not self._stopping:
            self.seen = time.monotonic()
            try:
                if self._is_needed():
                    time.sleep(SETTLE_AFTER)
                    self._tend()
                else:
                    pause = max(0.0, look_at - time.monotonic())
                    due_in = self._exchange.reports.due_in
                    self._alarm.sleep(pause if due_in is None else min(pause, due_in), self._is_needed)
                if time.monotonic() >= look_at:
                    look_at = time.monotonic() + self.interval
                    self._look()
            except Exception:
                logger.exception("the keeper met an error and goes on")
                time.sleep(self.interval)

    def _is_needed(self) -> bool:
        exchange = self._exchange
        return bool(self._stopping or exchange.buffer or exchange.hold.finished or self._report_due)

    @property
    def _report_due(self) -> bool:
        return self._exchange.reports.due_in == 0.0 and self._exchange.resting <= 0

    def _tend(self) -> None:
        """Settles what has waited long enough, wakes threads for jobs that lie about, gives back what is stuck."""
        exchange, now = self._exchange, time.monotonic()
        settles = exchange.hold.finished and now - exchange.last_trip > SETTLE_AFTER and exchange.resting <= 0
        if settles or self._report_due:
            exchange.try_trip(leader=0)
        if not exchange.buffer:
            return
        if self._idle:
            self._idle.wake_one()
        elif exchange.buffer.oldest_waited(now) > GIVE_BACK_AFTER and exchange.resting <= 0:
            exchange.give_back()

    def _look(self) -> None:
        """Looks for jobs that came without a bell, when threads are idle."""
        exchange = self._exchange
        self._long_runs()
        if exchange.hold.refused:
            exchange.retry_refused()
        if exchange.suspicious and exchange.resting <= 0:
            exchange.try_trip(leader=0)
        if exchange.quiet or exchange.closed or not (self._idle or self._listener.busy):
            return
        try:
            found = self._listener.sees_jobs()
        except CogworkerError as error:
            self._outages.failed("looking for jobs", error)
            return
        exchange.vitals.fetched()
        self._outages.succeeded("looking for jobs")
        if found:
            exchange.expect_jobs()
            exchange.try_trip(leader=0, listening=True)
