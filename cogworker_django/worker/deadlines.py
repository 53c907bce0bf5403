"""The `timeout` of jobs that are plain functions: when their time is over they get a `JobTimeout`, between two
instructions of Python. Code that does not come back from C, such as a long `time.sleep`, gets it when it does.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import threading
import time

from cogworker_django.core.errors import JobTimeout

JOIN = 1.0
"""Seconds that a stop waits for the thread."""
MOST_DISARMED = 1_000
"""Deadlines of ended runs that may lie about."""


class Deadline:
    """The end of one run's time.

    Args:
        at: when, on the monotonic clock.
        thread: the thread that runs.
    """

    def __init__(self, at: float, thread: int) -> None:
        self.at = at
        self._thread = thread
        self._lock = threading.Lock()
        self._over = False
        self._fired = False

    @property
    def armed(self) -> bool:
        """Whether the run goes on."""
        return not self._over

    def fire(self) -> None:
        """The time is over: raise in the thread, unless the run has ended."""
        with self._lock:
            if not self._over:
                self._fired = True
                _raise_in(self._thread, JobTimeout)

    def disarm(self) -> None:
        """The run has ended, on its own thread. What was raised and has not arrived is taken back.

        It may still arrive in here: then the run counts as too late, and nothing is pending any more.
        """
        with self._lock:
            self._over = True
            if self._fired:
                _raise_in(self._thread, None)


class Deadlines:
    """Watches the deadlines of a process; its thread starts with the first one."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._heap: list[tuple[float, int, Deadline]] = []
        self._order = itertools.count()
        self._disarmed = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def arm(self, seconds: float) -> Deadline:
        """Have the calling thread get a `JobTimeout` after some time.

        Args:
            seconds: from now on.

        Returns:
            What must be released when the run has ended.
        """
        deadline = Deadline(time.monotonic() + seconds, threading.get_ident())
        with self._wake:
            heapq.heappush(self._heap, (deadline.at, next(self._order), deadline))
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="cogworker-deadlines", daemon=True)
                self._thread.start()
            if self._heap[0][2] is deadline:
                self._wake.notify()
        return deadline

    def release(self, deadline: Deadline) -> None:
        """The run has ended; on its own thread."""
        deadline.disarm()
        self._disarmed += 1
        if self._disarmed > MOST_DISARMED:
            # Those of short jobs with long times would lie about for hours.
            with self._wake:
                self._disarmed = 0
                self._heap = [item for item in self._heap if item[2].armed]
                heapq.heapify(self._heap)

    def close(self) -> None:
        """End the thread, if there is one."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(JOIN)

    def _watch(self) -> None:
        while (deadline := self._next()) is not None:
            deadline.fire()

    def _next(self) -> Deadline | None:
        """Wait for the next one whose time is over; None when there will be none."""
        with self._wake:
            while not self._closed:
                if self._heap and self._heap[0][0] <= time.monotonic():
                    return heapq.heappop(self._heap)[2]
                self._wake.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
            return None


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    error = ctypes.py_object(kind) if kind is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
