"""What goes on beside a scenario: jobs are pushed, things are done over and over."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from cogworker_django import RedisUnavailable
from tests.scenarios import jobs
from tests.scenarios.rig import Rig

BATCH = 10
TAKES = 0.005
"""Seconds that each job takes."""
AGAIN = 0.05
"""Seconds until a push is tried again that ended in an error."""


@dataclass(frozen=True)
class Push:
    """One push that was confirmed."""

    jids: list[str]
    answered: float
    """When, on the monotonic clock, as the times of the ledger."""


class Load:
    """Pushes so many jobs, a few at a time, as an application does that must not lose one.

    Args:
        rig: to push them with.
        total: how many.
        rate: how many a second at most.
    """

    def __init__(self, rig: Rig, total: int, rate: float) -> None:
        self.pushes: list[Push] = []
        self._rig = rig
        self._total = total
        self._pause = BATCH / rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="load")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error:
            self._ended.set()
        self._thread.join()

    @property
    def pushed(self) -> int:
        """How many jobs have been confirmed."""
        return BATCH * len(self.pushes)

    def accepted_between(self, first: float, last: float) -> set[str]:
        """The jobs of the pushes that were confirmed between two moments."""
        return {jid for push in list(self.pushes) if first <= push.answered <= last for jid in push.jids}

    def _loop(self) -> None:
        while self.pushed < self._total:
            pause = self._pause if self._push() else AGAIN
            if self._ended.wait(pause):
                return

    def _push(self) -> bool:
        try:
            jids = self._rig.push(jobs.nap, [(TAKES,)] * BATCH)
        except RedisUnavailable:
            # They may have arrived.
            self._rig.unknown += BATCH
            return False
        self.pushes.append(Push(jids, time.monotonic()))
        return True


@contextlib.contextmanager
def every(seconds: float, step: Callable[[], object]) -> Iterator[None]:
    """Do something over and over beside the test."""
    stop = threading.Event()

    def loop() -> None:
        while not stop.wait(seconds):
            step()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
