"""The one door between a process's threads and Redis: one trip settles and fetches for all of them.

There is no fetcher thread: whoever finds the buffer low takes the lock and makes the trip for everyone, and the
others go on with what is left, or wait (`Handout`). The `Keeper` sees to it that nothing waits for a busy thread
(engine, "Exchange").
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from cogworker_django.core.errors import CogworkerError
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.trips import Landing, Trip, Trips
from cogworker_django.worker.backoff import Backoff
from cogworker_django.worker.buffer import Buffer
from cogworker_django.worker.delivery import Delivery, deliveries
from cogworker_django.worker.gates import Alarm, WaitingRoom
from cogworker_django.worker.hold import Hold
from cogworker_django.worker.listener import Listener
from cogworker_django.worker.outage import Collapser, Sparing
from cogworker_django.worker.pace import Pace
from cogworker_django.worker.picks import Picks
from cogworker_django.worker.reports import Reports
from cogworker_django.worker.scheduler import Scheduler
from cogworker_django.worker.strays import Strays
from cogworker_django.worker.vitals import Vitals

logger = logging.getLogger("cogworker")

Chore = Callable[[], None]

NO_COUNT = "wrong number of arguments"
"""What a server before 6.2 answers to an RPOP with a count."""
OWN_HASH = "in progress: "
"""Begins the error of a hash that took no jobs: they are back on their queue, and the hash is to be looked at."""


class Exchange:
    """Makes the trips.

    Args:
        trips: this process's trips, over a connection of their own.
        idle: the threads without work.
        listener: the one that waits at the bells.
        alarm: calls the keeper.
        clock: is told Redis's time by each trip.
        picks: draws the queues.
        reports: what running jobs tell about themselves.
        outages: where errors are reported.
        threads: how many processors there are.
        stale_after: seconds after which it is uncertain whether a fetched job is still this process's: it may have
            been frozen so long that others took its jobs. Half the orphan threshold: nobody takes them before that.
        scheduler: told when the earliest scheduled entry is due, if it does not know.
    """

    def __init__(
        self,
        trips: Trips,
        idle: WaitingRoom,
        listener: Listener,
        alarm: Alarm,
        clock: RedisClock,
        picks: Picks,
        reports: Reports,
        outages: Collapser,
        *,
        threads: int,
        stale_after: float,
        scheduler: Scheduler,
    ) -> None:
        self.hold = Hold()
        self.buffer = Buffer()
        self.pace = Pace(threads)
        self.vitals = Vitals()
        self.reports = reports
        self.chores: deque[Chore] = deque()
        """Death hooks that a processor shall run."""
        self.lock = threading.Lock()
        """Held by whoever makes a trip, or deals with what was fetched in any other way."""
        self.started = 0
        """The number of the latest job to have started."""
        self.last_trip = time.monotonic()
        """When the latest trip came back, on the monotonic clock."""
        self.hands_full = False
        """Whether jobs had to be given back, and no thread has become free since."""
        self.closed = False
        self.stale_after = stale_after
        self.quiet = False
        self._trips = trips
        self._idle = idle
        self._listener = listener
        self._alarm = alarm
        self._clock = clock
        self._picks = picks
        self._outages = outages
        self._sparing = Sparing()
        self._threads = threads
        self._scheduler = scheduler
        self._strays = Strays(trips, self.hold, self.buffer)
        self._backoff = Backoff()
        self._counter = 0
        self._dry = self._news = self.suspicious = False
        """Whether what the server holds for this process is to be compared with what it holds itself."""

    @property
    def progress(self) -> str:
        """What recovery would need to know: up to which token jobs have started, and how many run at once."""
        return f"{self.started} {self._threads}"

    @property
    def resting(self) -> float:
        """Seconds until Redis is asked again after an error; not positive when it may be asked now."""
        return self._backoff.left

    def needs_trip(self) -> bool:
        """Whether a trip would help a thread that looks for work, or settle something."""
        if len(self.buffer) >= (self.pace.ahead or 1):
            return False
        fetches = not (self._dry or self.quiet or self.hold.full)
        return bool(self.suspicious or self.hold.finished or fetches) and self.resting <= 0

    def try_trip(self, leader: int, *, listening: bool = False) -> None:
        """Makes a trip unless one is under way.

        Args:
            leader: 1 for a processor, which can take a job itself; 0 for the keeper.
            listening: whether to fetch for the thread at the bells too, although no bell has rung.
        """
        if not self.lock.acquire(blocking=False):
            return
        try:
            self.trip(leader + int(listening and self._listener.busy))
        finally:
            self.lock.release()
        if self._idle:
            # The keeper leaves the wait at the bells to a processor.
            if self.buffer or self.chores or not (leader or self._listener.busy):
                self._idle.wake_one()
        elif not leader and (self.buffer or self.chores):
            # Without a processor that leads or waits at a gate, one at the bells is the only one that is free.
            self._listener.wake()

    def expect_jobs(self) -> None:
        """A bell rang, or there may be jobs: the next thread looks."""
        # In this order: a trip that is under way looked before, and may say that there is nothing.
        self._news = True
        self._dry = False

    def suspect(self) -> bool:
        """Has the next trip compare what the server holds for us with what we hold; False in basic mode: nothing."""
        self.suspicious = self._trips.reliable
        return self.suspicious

    def failed(self, site: str, error: CogworkerError) -> None:
        """Reports an error and rests a while."""
        self._backoff.failed()
        self._outages.failed(site, error)

    def at_rest(self) -> int | None:
        """How many jobs have come in so far; None while one of them is in hand or under way."""
        with self.lock:
            return None if self.hold.jobs or self.hold.finished else self.hold.added

    def retry_refused(self) -> None:
        """Gives verdicts that Redis refused to write another trip."""
        with self.lock:
            self.hold.retry_refused()

    def give_back(self) -> None:
        """Puts all jobs that were fetched and not started back to the front of their queues."""
        with self.lock:
            jobs = self.buffer.empty()
            if not jobs:
                return
            self.hands_full = True
            asked = time.monotonic()
            try:
                moved = self._trips.give_back(jobs)
            except CogworkerError as error:
                self.buffer.take_back(jobs)
                self._lost_reply(error)
                return
            self.hold.drop(moved)
            # What its queue did not take is still ours, and is tried again later.
            self.buffer.renew([job for job in jobs if job.token in self.hold.jobs], asked)

    def requeue_rest(self) -> int:
        """Puts everything back that has not run to its end, running jobs included; how many jobs went. Raises
        RedisUnavailable when they stay in the hash, for others to recover.
        """
        with self.lock:
            self.buffer.empty()
            if self._trips.reliable:
                self._strays.held()
            waiting = self.hold.waiting()
            unfinished = [job for token, job in self.hold.jobs.items() if token not in waiting]
            return self._trips.requeue_all(unfinished, waiting)

    def trip(self, free: int) -> None:
        """Makes a trip, with the lock held, for the threads at the gates and `free` others."""
        if self.suspicious and not self._reconcile():
            return
        waiting = len(self._idle) + free
        wanted = self._wanted(waiting)
        done, verdicts = self.hold.take()
        reports = self.reports.take(self.hold.jobs)
        self._news = False
        # Advanced before the call, so that a lost reply cannot make us use a number twice; gaps are harmless.
        first, self._counter = self._counter + 1, self._counter + wanted
        trip = Trip(
            progress=self.progress,
            done=done,
            verdicts=verdicts,
            notes=self.reports.notes(reports),
            wanted=wanted,
            waiting=waiting,
            first=first,
            picks=self._picks.draw(wanted) if wanted else (),
            awaited=self._scheduler.awaited,
        )
        began = time.monotonic()
        try:
            landing = self._trips.exchange(trip, self._clock.now())
        except CogworkerError as error:
            self.hold.restore(done, verdicts)
            self.reports.put_back(reports)
            self._lost_reply(error)
            return
        self.last_trip = time.monotonic()
        self._succeeded(trip, landing, self.last_trip - began)
        self.chores.extend(self.hold.settled(done, verdicts, landing.results))
        self._take_in(trip, landing)
        certain = self.last_trip - began < self.stale_after
        self._land(deliveries(landing.jobs, first, self.last_trip, landing.orphaned), certain=certain)

    def _succeeded(self, trip: Trip, landing: Landing, seconds: float) -> None:
        self.pace.trip(seconds)
        self._backoff.succeeded()
        self._outages.succeeded("exchange")
        self._clock.tell(landing.now)
        if trip.wanted:
            self.vitals.fetched()
        if trip.done or trip.verdicts:
            self.vitals.settled()

    def _wanted(self, waiting: int) -> int:
        if self.quiet or self.closed or self.hold.full:
            return 0
        if self.hands_full:
            return max(0, waiting - len(self.buffer))
        return self.pace.wanted(waiting, len(self.buffer))

    def _take_in(self, trip: Trip, landing: Landing) -> None:
        """What a trip tells beside the jobs. If the time that it named is no longer awaited, the scheduler looks."""
        self._scheduler.hint(trip.awaited if landing.due is None else landing.due)
        if trip.wanted:
            self._dry = landing.dry and not self._news
            self._listener.paused = landing.paused
        for error in landing.errors:
            self._queue_error(error)

    def _land(self, fetched: list[Delivery], *, certain: bool) -> None:
        """Takes in what was fetched. After a trip so long that others may have taken it, it is looked up first."""
        if not fetched:
            return
        self.pace.fetched(len(fetched), sum(len(delivery.raw) for delivery in fetched))
        self.hold.add(fetched)
        if certain:
            self.buffer.extend(fetched)
        else:
            self.buffer.take_back(fetched)
        self._alarm.ring()

    def _lost_reply(self, error: CogworkerError) -> None:
        self.suspect()  # the server may have moved jobs before the reply was lost
        self.failed("exchange", error)

    def _reconcile(self) -> bool:
        try:
            self._strays.reconcile()
        except CogworkerError as error:
            self._lost_reply(error)
            return False
        self.suspicious = False
        return True

    def _queue_error(self, error: str) -> None:
        if NO_COUNT in error and self._trips.reliable:
            self._trips.reliable = self._dry = self.suspicious = False
            logger.warning("Redis is older than 6.2: basic mode, in which a killed process loses its jobs")
            return
        if error.startswith(OWN_HASH):
            self.suspect()
        if self._sparing.may_say(error):
            logger.error("a queue could not be read: %s", error)
