"""How far ahead to fetch: a guess from how long jobs and round trips take."""

from __future__ import annotations

import math

MOST_AHEAD = 200
"""Jobs that one trip fetches at most. With 100 a Redis that is 1 ms away would bound a process to 50,000 no-op jobs a
second; a job fetched too early goes back after 100 ms, so a large number costs nothing when jobs turn out long."""
SLOW_JOB = 0.0005
"""Seconds: a job that takes longer is worth waking another thread for, which costs some 20 µs."""
LONG = 0.1
"""When fewer jobs than this end during a trip they are long, and none is fetched ahead: a free thread fetches."""
JOB_WEIGHT = 1 / 32
TRIP_WEIGHT = 1 / 8
BYTES_PER_TRIP = 8 * 1024 * 1024
"""About what one trip fetches at most, since all of it is in the server's and in this process's memory at once."""
START = 0.001
"""Seconds: what a job and a trip are taken for until some were seen."""


class Pace:
    """Running means of the times of jobs and of trips.

    Threads update the mean of jobs without a lock: a lost update does not matter to a mean.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._job = START
        self._trip = START
        self._bytes = 0.0
        self.ahead = 1
        """How many jobs in the buffer are too few: what the threads finish during one trip."""
        self.slow = False
        """Whether jobs take so long that each should have a thread at once."""

    def job(self, seconds: float) -> None:
        """Counts a job's time."""
        self._job += (seconds - self._job) * JOB_WEIGHT

    def trip(self, seconds: float) -> None:
        """Counts a trip's time and renews the guess."""
        self._trip += (seconds - self._trip) * TRIP_WEIGHT
        self.slow = self._job > SLOW_JOB
        finished = self._threads * self._trip / max(self._job, 1e-7)
        self.ahead = 0 if finished < LONG else min(MOST_AHEAD, math.ceil(finished))

    def fetched(self, jobs: int, size: int) -> None:
        """Counts what a trip has brought; larger jobs are believed at once, smaller ones by and by.

        Args:
            jobs: how many, at least one.
            size: bytes of all of them.
        """
        self._bytes = max(size / jobs, self._bytes + (size / jobs - self._bytes) * TRIP_WEIGHT)

    def wanted(self, waiting: int, buffered: int) -> int:
        """How many jobs to fetch now.

        Args:
            waiting: threads without a job, the asking one included.
            buffered: jobs fetched and not started.
        """
        most = min(MOST_AHEAD, max(1, int(BYTES_PER_TRIP / self._bytes))) if self._bytes else MOST_AHEAD
        return max(0, min(most, waiting + 2 * self.ahead - buffered))
