"""The thread that does what is worth doing about once a minute, each task by itself."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cogworker_django.core.errors import CogworkerError, RedisUnavailable
from cogworker_django.worker.outage import Collapser

logger = logging.getLogger("cogworker")

RETRY_AFTER = 5.0
"""Seconds until a task that lost the connection is tried again (reference, 10.1)."""
JOIN = 1.0
"""Seconds that a stop waits for the task that is being done."""


@dataclass(slots=True)
class Task:
    """Something to be done at boot and then at an interval."""

    name: str
    """How the log calls it."""
    step: Callable[[], float | None]
    """Does it; may answer in how many seconds it shall be done again, when that is not the interval."""
    due: float = 0.0
    """When it is done next, on the monotonic clock."""


class Upkeep:
    """Does the tasks in their order; one that fails costs the others nothing.

    Args:
        tasks: what there is to do.
        outages: where errors are reported.
        interval: seconds between two times of a task.
    """

    def __init__(self, tasks: Sequence[Task], outages: Collapser, *, interval: float) -> None:
        self._tasks = tasks
        self._outages = outages
        self._interval = interval
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="cogworker-upkeep", daemon=True)

    def start(self) -> None:
        """Starts the thread; every task is done at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the task that it is at."""
        self._stopping.set()
        self._thread.join(JOIN)

    def round(self) -> float:
        """Does what is due; seconds until the next task is."""
        for task in self._tasks:
            if task.due <= time.monotonic() and not self._stopping.is_set():
                task.due = time.monotonic() + self._do(task)
        return max(0.0, min(task.due for task in self._tasks) - time.monotonic())

    def _loop(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = self.round()

    def _do(self, task: Task) -> float:
        try:
            pause = task.step()
        except RedisUnavailable as error:
            self._outages.failed(task.name, error)
            return min(RETRY_AFTER, self._interval)
        except CogworkerError as error:
            self._outages.failed(task.name, error)
            return self._interval
        except Exception:
            logger.exception("%s met an error and goes on", task.name)
            return self._interval
        self._outages.succeeded(task.name)
        return self._interval if pause is None else pause
