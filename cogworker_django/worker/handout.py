"""What a processor thread deals with: it takes work here, waits for it here, and hands verdicts in."""

from __future__ import annotations

import logging
import time

from cogworker_django.core.errors import CogworkerError, RedisUnavailable
from cogworker_django.core.text import one_line
from cogworker_django.store.settlement import Settlement
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.exchange import Chore, Exchange
from cogworker_django.worker.gates import Alarm, Gate, WaitingRoom
from cogworker_django.worker.listener import Listener
from cogworker_django.worker.outage import Collapser, Sparing

logger = logging.getLogger("cogworker")

SEND_HOME = 0.5
SEND_HOME_STEP = 0.005
"""Seconds that a stop tries to end the wait at the bells at most, and between two tries."""
LISTEN_AGAIN = 0.2
"""Seconds after which a wait that Redis refused is tried again."""
DOUBT_PAUSE = 0.01
"""Seconds until a thread asks again about such a job while another thread does."""


class Handout:
    """Gives each thread the next job; one idle thread waits at the bells, the others at gates of their own.

    Args:
        exchange: makes the trips.
        idle: the gates.
        listener: the wait at the bells.
        alarm: calls the keeper.
        outages: where errors are reported.
    """

    def __init__(
        self, exchange: Exchange, idle: WaitingRoom, listener: Listener, alarm: Alarm, outages: Collapser
    ) -> None:
        self._exchange = exchange
        self._buffer = exchange.buffer
        self._chores = exchange.chores
        self._hold = exchange.hold
        self._pace = exchange.pace
        self._idle = idle
        self._listener = listener
        self._alarm = alarm
        self._outages = outages
        self._sparing = Sparing()

    def take(self, gate: Gate) -> Delivery | Chore | None:
        """The next thing to do; waits for it.

        Args:
            gate: the calling thread's own.

        Returns:
            A job, or a death hook to run, or None when the process takes no more work.
        """
        self._exchange.hands_full = False
        while not self._exchange.closed:
            if self._chores and (chore := self._next_chore()):
                return chore
            if self._exchange.needs_trip():
                self._exchange.try_trip(leader=1)
            try:
                delivery = self._buffer.pop()
            except IndexError:
                self._wait(gate)
                continue
            if time.monotonic() - delivery.fetched > self._exchange.stale_after and self._exchange.suspect():
                self._doubt(delivery, gate)
                continue
            self._exchange.started = delivery.number
            if self._idle and (self._pace.slow if self._buffer else not self._listener.busy):
                self._idle.wake_one()
            return delivery
        return None

    def done(self, token: str) -> None:
        """A success that needs no write beyond its removal."""
        self._hold.done.append(token)
        self._alarm.ring()

    def settle(self, settlement: Settlement) -> None:
        """A verdict; from here on the job never runs again in this process."""
        self._hold.verdicts.append(settlement)
        self._alarm.ring()

    def job_took(self, seconds: float) -> None:
        """Tells how long a job ran."""
        self._pace.job(seconds)

    def add_chore(self, chore: Chore) -> None:
        """Something for a processor thread to do between jobs."""
        self._chores.append(chore)
        if self._idle:
            self._idle.wake_one()
        else:
            self._listener.wake()

    def leftover(self) -> list[Chore]:
        """The chores that no thread has come to, taken out: the process stops and they still have to be done."""
        return [self._chores.popleft() for _ in range(len(self._chores))]

    def set_quiet(self, quiet: bool) -> None:
        """Stops fetching, or starts it again; what was fetched ahead goes back."""
        self._exchange.quiet = self._listener.quiet = quiet
        self._exchange.expect_jobs()
        if quiet:
            self._exchange.give_back()
        self._wake_everybody()

    def close(self) -> None:
        """Lets every thread that asks for work go home; jobs that run go on. A bell that rings now is for others."""
        self._exchange.closed = self._listener.quiet = True
        self._wake_everybody()

    def send_home(self) -> None:
        """Ends a wait at the bells that began only after `close` had woken whoever waited."""
        deadline = time.monotonic() + SEND_HOME
        while self._listener.busy and time.monotonic() < deadline:
            self._listener.wake()
            time.sleep(SEND_HOME_STEP)

    def _wake_everybody(self) -> None:
        self._idle.wake_all()
        self._alarm.ring()
        self._listener.wake()

    def _next_chore(self) -> Chore | None:
        try:
            return self._chores.popleft()
        except IndexError:
            return None

    def _doubt(self, delivery: Delivery, gate: Gate) -> None:
        """Has a job looked up that may no longer be ours; waits while that cannot be done."""
        self._buffer.put_back(delivery)
        # Once more: a comparison that began before has not seen it.
        self._exchange.suspect()
        if self._exchange.resting <= 0:
            self._exchange.try_trip(leader=1)
        if self._exchange.suspicious and not self._exchange.closed:
            self._idle.enter(gate)
            if not gate.wait(max(DOUBT_PAUSE, self._exchange.resting)):
                self._idle.leave(gate)

    def _wait(self, gate: Gate) -> None:
        resting = self._exchange.resting
        if resting <= 0 and not self._exchange.needs_trip() and self._listener.enter():
            try:
                if not (self._work_waits() or self._exchange.closed):
                    self._listen()
            finally:
                self._listener.leave()
            return
        self._idle.enter(gate)
        if self._work_waits() or self._exchange.closed or not gate.wait(resting if resting > 0 else -1):
            self._idle.leave(gate)

    def _work_waits(self) -> bool:
        """Whether there is something to do now; a trip that is under way brings what there is by itself."""
        exchange = self._exchange
        return bool(self._buffer or self._chores or (exchange.needs_trip() and not exchange.lock.locked()))

    def _listen(self) -> None:
        try:
            if self._listener.listen():
                self._exchange.expect_jobs()
        except RedisUnavailable as error:
            self._exchange.failed("waiting for jobs", error)
        except CogworkerError as error:
            # One damaged bell refuses the wait at all of them: until it is mended the keeper's look finds the jobs,
            # and the trips are not held up.
            if self._sparing.may_say(str(error)):
                logger.error("waiting for jobs failed: %s", one_line(str(error), 500))
            time.sleep(LISTEN_AGAIN)
        else:
            self._exchange.vitals.fetched()
            self._outages.succeeded("waiting for jobs")
