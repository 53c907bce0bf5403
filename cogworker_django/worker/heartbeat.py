"""Presence: a process says every few seconds that it lives and what it runs (reference, section 21)."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.errors import CogworkerError, RedisDenied
from cogworker_django.process.memory import resident_kb
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.processes import Processes
from cogworker_django.worker.exchange import Exchange
from cogworker_django.worker.listener import WAKE, Listener
from cogworker_django.worker.outage import Collapser
from cogworker_django.worker.work import Work

FIRST_BEAT_PAUSE = 1.0
"""Seconds between two tries of the first beat."""
WAITING = "waiting for Redis to start work"
"""How the log calls the time before the first beat."""
LONG_JOB = 1.0
"""Seconds after which a running job is worth publishing between two beats."""


class Heartbeat:
    """Beats, publishes what runs, and hands on what the process is told to do.

    Args:
        processes: writes presence.
        clock: told Redis's time by each beat.
        exchange: knows how far this process has come.
        listener: reads the commands itself while it waits.
        work: knows what runs.
        identity: of this process.
        info: what never changes about it: queues, concurrency, version, tag.
        interval: seconds between beats.
        threshold: seconds without a beat after which a process counts as dead.
        outages: where errors are reported.
        on_command: given each remote command.
        swarm: tells about the swarm of this process.
    """

    def __init__(
        self,
        processes: Processes,
        clock: RedisClock,
        exchange: Exchange,
        listener: Listener,
        work: Work,
        identity: str,
        info: dict[str, Any],
        *,
        interval: float,
        threshold: float,
        outages: Collapser,
        on_command: Callable[[str], None],
        swarm: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.seen = time.monotonic()
        """When its thread gave its last sign; the next one comes within a second, or as long as Redis takes."""
        self.quiet = False
        """What is published about fetching."""
        self._processes = processes
        self._clock = clock
        self._exchange = exchange
        self._listener = listener
        self._work = work
        self._identity = identity
        self._info = {"hostname": socket.gethostname(), "pid": os.getpid(), "started_at": time.time(), **info}
        self._interval = interval
        self._threshold = threshold
        self._outages = outages
        self._on_command = on_command
        self._swarm = swarm
        self._published: bytes | None = None
        self._heard = time.monotonic()
        self._distrusted_until = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="cogworker-heartbeat", daemon=True)

    def first(self, wait: Callable[[float], bool]) -> bool:
        """Beats for the first time, before any job is fetched; tries until Redis is there.

        Args:
            wait: waits so many seconds; True when the process shall stop instead.

        Returns:
            False when it was told to stop before.

        Raises:
            RedisDenied: waiting does not help, and whoever starts the process should see it at once.
        """
        while True:
            try:
                self._beat()
            except RedisDenied:
                raise
            except CogworkerError as error:
                self._outages.failed(WAITING, error)
            else:
                self._outages.succeeded(WAITING)
                return True
            self._heard = -math.inf
            if wait(FIRST_BEAT_PAUSE):
                return False

    @property
    def may_judge(self) -> bool:
        """Whether others that have not beaten may be taken for dead. Not while and shortly after this process itself
        was out of touch, or waited for Redis at its boot: whatever kept it away may have kept them away too.
        """
        now = time.monotonic()
        return now >= self._distrusted_until and now - self._heard <= self._threshold

    @property
    def unheard(self) -> float:
        """Seconds since Redis has last taken a beat."""
        return time.monotonic() - self._heard

    def start(self) -> None:
        """Starts the thread."""
        self.seen = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; presence is taken off by the launcher."""
        self._stopping.set()
        self._thread.join(timeout=1.0)

    def beat(self) -> bool:
        """Beats once; whether it was heard. Errors are reported, never raised."""
        try:
            self._beat()
        except Exception as error:  # noqa: BLE001 - without beats, others would take this process's jobs
            self._outages.failed("heartbeat", error)
            return False
        return True

    def _beat(self) -> None:
        info = self._info | {"busy": self._work.busy, "quiet": self.quiet, "rss_kb": resident_kb()}
        info |= self._swarm()
        reply = self._processes.beat(
            self._identity,
            progress=self._exchange.progress,
            info=codec.encode(info),
            read_commands=not self._listener.busy,
        )
        self._clock.tell(reply.now)
        self._note_heard()
        # They are out of Redis: nothing that fails from here on may lose them.
        for command in reply.commands:
            # A wake-up lies among them when nobody waited any more by the time it came.
            if command.encode() != WAKE:
                self._on_command(command)
        self._tell_work()

    def _note_heard(self) -> None:
        now = time.monotonic()
        if now - self._heard > self._threshold:
            self._distrusted_until = now + 2 * self._interval
        self._heard = now

    def _loop(self) -> None:
        due = time.monotonic() + self._interval
        while not self._stopping.wait(max(0.0, min(LONG_JOB, due - time.monotonic()))):
            self.seen = time.monotonic()
            if time.monotonic() >= due:
                self.beat()
                due = time.monotonic() + self._interval
            elif self._work.oldest() > LONG_JOB:
                self._tell_work(only_changed=True)

    def _tell_work(self, *, only_changed: bool = False) -> None:
        try:
            self._publish(only_changed=only_changed)
        except Exception as error:  # noqa: BLE001 - what cannot be shown must not end the beats
            self._outages.failed("heartbeat", error)
        else:
            self._outages.succeeded("heartbeat")

    def _publish(self, *, only_changed: bool) -> None:
        """Writes what runs; nothing is written while nothing runs, nor between beats while nothing has changed."""
        work = self._work.published()
        if work == self._published and (work is None or only_changed):
            return
        self._processes.publish_work(self._identity, work)
        self._published = work
