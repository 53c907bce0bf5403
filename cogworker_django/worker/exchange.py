"""The one door between a process's threads and Redis: one trip settles and fetches for all of them.

There is no fetcher thread. The processor that finds the buffer low takes the lock and makes the trip for everyone;
the others go on with what is left, or wait. An idle process waits at its queues' bells (`Listener`), and the
`Keeper` sees to it that nothing that has finished waits for a busy thread (engine, "Exchange").
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from cogworker_django.core.errors import CogworkerError
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.settlement import Settlement
from cogworker_django.store.trips import Landing, Trip, Trips, number_of
from cogworker_django.worker.backoff import Backoff
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.gates import Gate, WaitingRoom
from cogworker_django.worker.hold import Hold
from cogworker_django.worker.listener import Listener
from cogworker_django.worker.outage import Collapser
from cogworker_django.worker.pace import Pace
from cogworker_django.worker.picks import Picks

logger = logging.getLogger("cogworker")

Chore = Callable[[], None]

MAX_UNSETTLED = 300
"""While more verdicts than this wait, nothing is fetched: each is a job that a crash would run again."""
SETTLE_AFTER = 0.002
"""Seconds that a verdict waits for company before it gets a trip of its own."""
GIVE_BACK_AFTER = 0.1
"""Seconds that a job waits in the buffer before it goes back to its queue for an idle process."""
STALE_AFTER = 1.0
"""Seconds in the buffer after which a job is looked up before it runs: the process may have been frozen so long
that others took its jobs."""
NO_COUNT = "wrong number of arguments"
"""What a server before 6.2 answers to an RPOP with a count."""


class Exchange:
    """Hands out jobs, takes in verdicts, and makes the trips.

    Args:
        trips: this process's trips, over a connection of their own.
        listener: waits at the bells.
        clock: is told Redis's time by each trip.
        picks: draws the queues.
        outages: where errors are reported.
        threads: how many processors there are.
        on_due: told when the earliest scheduled entry is due, in epoch seconds.
    """

    def __init__(
        self,
        trips: Trips,
        listener: Listener,
        clock: RedisClock,
        picks: Picks,
        outages: Collapser,
        *,
        threads: int,
        on_due: Callable[[float], None],
    ) -> None:
        self.hold = Hold()
        self.pace = Pace(threads)
        self.idle = WaitingRoom()
        self.last_trip = time.monotonic()
        """When the latest trip came back, on the monotonic clock."""
        self._trips = trips
        self._listener = listener
        self._clock = clock
        self._picks = picks
        self._outages = outages
        self._threads = threads
        self._on_due = on_due
        self._lock = threading.Lock()
        self._buffer: deque[Delivery] = deque()
        self._chores: deque[Chore] = deque()
        self._backoff = Backoff()
        self._keeper = Gate()
        self._counter = 0
        self._started = 0
        self._resting_until = 0.0
        self._closed = False
        self._quiet = False
        self._dry = False
        self._suspect = False
        self._full_hands = False
        self.keeper_sleeps = False

    # -- what processors call ------------------------------------------------------------------------

    def take(self, gate: Gate) -> Delivery | Chore | None:
        """The next thing to do; waits for it.

        Args:
            gate: the calling thread's own.

        Returns:
            A job, or a death hook to run, or None when the exchange is closed.
        """
        self._full_hands = False
        while not self._closed:
            if self._chores:
                return self._chores.popleft()
            if self._needs_trip():
                self._try_trip(leader=1)
            try:
                delivery = self._buffer.popleft()
            except IndexError:
                self._wait(gate)
                continue
            if time.monotonic() - delivery.fetched > STALE_AFTER:
                self._doubt(delivery)
                continue
            self._started = number_of(delivery.token)
            if self.idle and (self.pace.slow if self._buffer else not self._listener.busy):
                self.idle.wake_one()
            return delivery
        return None

    def done(self, token: str) -> None:
        """A success that needs no write beyond its removal."""
        self.hold.done.append(token)
        if self.keeper_sleeps:
            self._keeper.open()

    def settle(self, settlement: Settlement) -> None:
        """A verdict; from here on the job never runs again in this process."""
        self.hold.verdicts.append(settlement)
        if self.keeper_sleeps:
            self._keeper.open()

    def add_chore(self, chore: Chore) -> None:
        """Something for a processor thread to do between jobs."""
        self._chores.append(chore)
        self.idle.wake_one()

    # -- what the keeper calls -----------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether something may have to be seen to within milliseconds."""
        return bool(self._buffer or self.hold.finished)

    def rest(self, timeout: float) -> bool:
        """Lets the keeper sleep until it is needed, `timeout` seconds at most; whether it was called."""
        self.keeper_sleeps = True
        called = self.busy or self._keeper.wait(timeout)
        self.keeper_sleeps = False
        return called

    def tend(self) -> None:
        """Settles what has waited long enough, wakes threads for jobs that lie about, gives back what is stuck."""
        now = time.monotonic()
        if self.hold.finished and now - self.last_trip > SETTLE_AFTER and now >= self._resting_until:
            self._try_trip(leader=0)
        if not self._buffer:
            return
        if self.idle:
            self.idle.wake_one()
        elif self._oldest_waited(now) > GIVE_BACK_AFTER:
            self.give_back()

    def look(self) -> None:
        """Looks for jobs that came without a bell, when threads are idle; asks again for refused verdicts."""
        if self.hold.refused:
            with self._lock:
                self.hold.retry_refused()
        if self._suspect:
            self._try_trip(leader=0)
        if self._quiet or self._closed or not (self.idle or self._listener.busy):
            return
        try:
            found = self._listener.sees_jobs()
        except CogworkerError as error:
            self._outages.failed("looking for jobs", error)
            return
        self._outages.succeeded("looking for jobs")
        if found:
            self._dry = False
            self._try_trip(leader=0)

    def give_back(self) -> None:
        """Puts all jobs that were fetched and not started back to the front of their queues."""
        with self._lock:
            deliveries = self._empty_buffer()
            if not deliveries:
                return
            self._full_hands = True
            try:
                moved = self._trips.give_back(deliveries)
            except CogworkerError as error:
                self._buffer.extend(deliveries)
                self._failed(error)
                return
            self.hold.drop(moved)
            self._buffer.extend(delivery for delivery in deliveries if delivery.token in self.hold.jobs)

    # -- what the launcher calls ---------------------------------------------------------------------

    def set_quiet(self, quiet: bool) -> None:
        """Stops fetching, or starts it again; what was fetched ahead goes back."""
        self._quiet = self._listener.quiet = quiet
        self._dry = False
        if quiet:
            self.give_back()
        self.idle.wake_all()
        self._listener.wake()

    def close(self) -> None:
        """Lets every thread that asks for work go home; jobs that run go on."""
        self._closed = True
        self.idle.wake_all()
        self._keeper.open()
        self._listener.wake()

    def flush(self, seconds: float) -> bool:
        """Settles all that has finished, trying for a time.

        Returns:
            Whether everything is settled.
        """
        deadline = time.monotonic() + seconds
        with self._lock:
            self.hold.retry_refused()
            while self.hold.finished and time.monotonic() < deadline:
                time.sleep(max(0.0, min(self._resting_until, deadline) - time.monotonic()))
                self._trip(leader=0)
        return not (self.hold.finished or self.hold.refused)

    def requeue_rest(self) -> int:
        """Puts everything back that has not run to its end, running jobs included.

        Returns:
            How many jobs went back.

        Raises:
            RedisUnavailable: they stay in the hash, for others to recover.
        """
        with self._lock:
            self._empty_buffer()
            waiting = self.hold.waiting()
            return self._trips.requeue_all(
                [delivery for token, delivery in self.hold.jobs.items() if token not in waiting], waiting
            )

    def suspect(self) -> None:
        """Has the next trip compare what the server holds for this process with what it holds itself."""
        self._suspect = self._trips.reliable

    @property
    def progress(self) -> str:
        """What recovery would need to know: up to which token jobs have started, and how many run at once."""
        return f"{self._started} {self._threads}"

    @property
    def listening(self) -> bool:
        """Whether a thread waits at the bells, where remote commands arrive too."""
        return self._listener.busy

    # -- trips ---------------------------------------------------------------------------------------

    def _needs_trip(self) -> bool:
        if len(self._buffer) >= (self.pace.ahead or 1):
            return False
        if not (self._suspect or self.hold.finished or not (self._dry or self._quiet)):
            return False
        return time.monotonic() >= self._resting_until

    def _try_trip(self, leader: int) -> None:
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._trip(leader)
        finally:
            self._lock.release()
        # The keeper leaves the wait at the bells to a processor.
        if self.idle and (self._buffer or not (leader or self._listener.busy)):
            self.idle.wake_one()

    def _trip(self, leader: int) -> None:
        if self._suspect and not self._reconcile():
            return
        done, verdicts = self.hold.take()
        waiting = len(self.idle) + leader
        wanted = self._wanted(waiting)
        first, self._counter = self._counter + 1, self._counter + wanted
        trip = Trip(
            progress=self.progress,
            done=done,
            verdicts=verdicts,
            wanted=wanted,
            waiting=waiting,
            first=first,
            picks=self._picks.draw(wanted) if wanted else (),
        )
        began = time.monotonic()
        try:
            landing = self._trips.exchange(trip, self._clock.now())
        except CogworkerError as error:
            self.hold.restore(done, verdicts)
            self._failed(error)
            return
        self.last_trip = time.monotonic()
        self.pace.trip(self.last_trip - began)
        self._backoff.succeeded()
        self._outages.succeeded("exchange")
        self._clock.tell(landing.now)
        self._chores.extend(self.hold.settled(done, verdicts, landing.results))
        self._land(landing, first, wanted)

    def _wanted(self, waiting: int) -> int:
        if self._quiet or self._closed or len(self.hold.verdicts) + len(self.hold.refused) > MAX_UNSETTLED:
            return 0
        if self._full_hands:
            return max(0, waiting - len(self._buffer))
        return self.pace.wanted(waiting, len(self._buffer))

    def _land(self, landing: Landing, first: int, wanted: int) -> None:
        if landing.due is not None:
            self._on_due(landing.due)
        if wanted:
            self._dry = landing.dry
            self._listener.paused = landing.paused
        for error in landing.errors:
            self._queue_error(error)
        if not landing.jobs:
            return
        deliveries, now, number = [], self.last_trip, first
        for queue, raws in landing.jobs:
            for raw in raws:
                deliveries.append(Delivery(f"{number}:{queue}", queue, raw, now, landing.orphaned))
                number += 1
        self.hold.add(deliveries)
        self._buffer.extend(deliveries)
        if self.keeper_sleeps:
            self._keeper.open()

    def _failed(self, error: CogworkerError) -> None:
        """After any error what the server holds for us is compared with what we hold, before the next trip: a
        reply may have been lost after the server had moved jobs."""
        self._suspect = self._trips.reliable
        self._resting_until = time.monotonic() + self._backoff.failed()
        self._outages.failed("exchange", error)

    def _queue_error(self, error: str) -> None:
        if NO_COUNT in error and self._trips.reliable:
            self._trips.reliable = self._dry = False
            logger.warning("Redis is older than 6.2: jobs are fetched in basic mode, and a killed process loses its jobs")
            return
        logger.error("a queue could not be read: %s", error)

    # -- strays --------------------------------------------------------------------------------------

    def _reconcile(self) -> bool:
        """Drops jobs that others have taken, and takes up those that arrived without our knowing."""
        try:
            held = self._trips.held()
            self._drop_lost(held)
            strays = sorted(held - self.hold.jobs.keys(), key=number_of)
            self._adopt(strays, self._trips.raw(strays))
        except CogworkerError as error:
            self._failed(error)
            return False
        self._suspect = False
        return True

    def _drop_lost(self, held: set[str]) -> None:
        now, kept = time.monotonic(), []
        for delivery in reversed(self._empty_buffer()):
            if delivery.token in held:
                delivery.fetched = now
                kept.append(delivery)
            else:
                self.hold.drop([delivery.token])
        self._buffer.extend(reversed(kept))

    def _adopt(self, tokens: Sequence[str], raws: Sequence[bytes | None]) -> None:
        now = time.monotonic()
        strays = [
            Delivery(token, token.split(":", 1)[1], raw, now, True)
            for token, raw in zip(tokens, raws, strict=True)
            if raw is not None
        ]
        if strays:
            logger.warning("%d jobs had been fetched without this process hearing of it; they run now", len(strays))
        self.hold.add(strays)
        self._buffer.extend(strays)

    def _doubt(self, delivery: Delivery) -> None:
        self._buffer.appendleft(delivery)
        self._suspect = True
        self._try_trip(leader=1)

    def _empty_buffer(self) -> list[Delivery]:
        deliveries = []
        while self._buffer:
            try:
                deliveries.append(self._buffer.popleft())
            except IndexError:
                break
        return deliveries

    def _oldest_waited(self, now: float) -> float:
        try:
            return now - self._buffer[0].fetched
        except IndexError:
            return 0.0

    # -- waiting -------------------------------------------------------------------------------------

    def _wait(self, gate: Gate) -> None:
        resting = self._resting_until - time.monotonic()
        if resting <= 0 and not self._needs_trip() and self._listener.enter():
            try:
                if not self._work_waits():
                    self._listen()
            finally:
                self._listener.leave()
            return
        self.idle.enter(gate)
        if self._work_waits() or self._closed:
            self.idle.leave(gate)
        elif resting > 0:
            if not gate.wait(resting):
                self.idle.leave(gate)
        else:
            gate.wait()

    def _work_waits(self) -> bool:
        """Whether there is something to do now; a trip that is under way brings what there is by itself."""
        return bool(self._buffer or self._chores or (self._needs_trip() and not self._lock.locked()))

    def _listen(self) -> None:
        try:
            if self._listener.listen():
                self._dry = False
        except CogworkerError as error:
            self._resting_until = time.monotonic() + self._backoff.failed()
            self._outages.failed("waiting for jobs", error)
        else:
            self._outages.succeeded("waiting for jobs")
