"""Jobs that were fetched and have not started."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

from cogworker_django.worker.delivery import Delivery


class Buffer:
    """First in, first out; threads take from it without a lock."""

    def __init__(self) -> None:
        self._jobs: deque[Delivery] = deque()
        self.pop = self._jobs.popleft
        """Takes the next job out; IndexError when there is none."""
        self.put_back = self._jobs.appendleft
        """Puts a job back where it was taken."""

    def __len__(self) -> int:
        return len(self._jobs)

    def extend(self, jobs: Iterable[Delivery]) -> None:
        """Adds jobs in the order of their tokens."""
        self._jobs.extend(jobs)

    def take_back(self, jobs: Sequence[Delivery]) -> None:
        """Adds jobs that may no longer be this process's: they count as old, so each is looked up before it runs."""
        for job in jobs:
            job.fetched = -math.inf
        self._jobs.extend(jobs)

    def renew(self, jobs: Sequence[Delivery], when: float) -> None:
        """Adds jobs that were this process's at a moment of the monotonic clock: they count as fetched then."""
        for job in jobs:
            job.fetched = when
        self._jobs.extend(jobs)

    def empty(self) -> list[Delivery]:
        """Takes everything out, while other threads may be taking too."""
        jobs = []
        while self._jobs:
            try:
                jobs.append(self._jobs.popleft())
            except IndexError:
                break
        return jobs

    def oldest_waited(self, now: float) -> float:
        """For how many seconds the next job has been waiting; 0 when there is none."""
        try:
            return now - self._jobs[0].fetched
        except IndexError:
            return 0.0
