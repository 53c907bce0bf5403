"""Boot and end of a worker process, and its signals (reference, sections 24 and 25)."""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

from cogworker_django.core.entry import Entry
from cogworker_django.core.errors import CogworkerError, RedisUnavailable
from cogworker_django.core.version import VERSION
from cogworker_django.core.worker_options import WorkerOptions
from cogworker_django.runtime import Runtime
from cogworker_django.worker.worker import Plan, Worker

logger = logging.getLogger("cogworker")

STOP, STOP_NOW, QUIET, RESUME, DUMP = "stop", "stop now", "quiet", "resume", "dump"
SIGNALS = {
    signal.SIGTERM: STOP,
    signal.SIGINT: STOP_NOW,
    signal.SIGHUP: STOP,
    signal.SIGTSTP: QUIET,
    signal.SIGTTIN: DUMP,
}
"""The first INT stops like a TERM; only one that comes while stopping means at once. HUP is a terminal that closes."""
DRAIN_LOOK = 0.1
"""Seconds between two looks whether everything is done (`--drain`)."""
SIGNAL_LOOK = 1.0
"""Seconds between two looks for a signal that came at the moment at which the wait began, and did not end it."""
JOIN_STEP = 0.05
"""Seconds between two looks at threads that are finishing."""


class Launcher:
    """Runs a worker process from its boot to its exit.

    Args:
        runtime: settings, store, registry and middleware.
        options: flags, file and environment, resolved.
        entries: the periodic entries, checked.
        before: called on a processor thread before each job.
        after: called after each job.
    """

    def __init__(
        self,
        runtime: Runtime,
        options: WorkerOptions,
        entries: Sequence[Entry] = (),
        *,
        before: Callable[[], None],
        after: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._options = options
        self._entries = entries
        self._before = before
        self._after = after
        # The only queue that a signal handler may put into (style anchors, part 5).
        self._commands: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._pending_quiet = False

    def run(self) -> int:
        """Boots, works until it is told to stop, and stops.

        Returns:
            The exit status: 0 after a clean stop.
        """
        self._listen()
        try:
            worker = self._boot()
            if worker is None:
                logger.info("stopped before Redis was there")
                return 0
            self._watch(worker)
            self._stop(worker)
            return 0
        finally:
            self._runtime.store.close()
            # The interpreter ends with the defaults: one signal more would make a clean stop look like a death.
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)

    def _listen(self) -> None:
        for number in SIGNALS:
            # Below `nohup` it is ignored, and stays so.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._commands.put(SIGNALS[signal.Signals(number)])

    # -- boot ----------------------------------------------------------------------------------------

    def _boot(self) -> Worker | None:
        """The first beat comes before the first fetch; it waits for Redis as long as that takes."""
        reliable = self._options.fetch == "reliable"
        worker = self._worker(reliable)
        if not worker.heartbeat.first(self._told_to_stop):
            return None
        if reliable and not self._supports_reliable():
            logger.warning("Redis is older than 6.2: basic mode, in which a killed process loses its jobs")
            self._runtime.store.processes.forget(worker.identity)
            worker = self._worker(False)
            worker.heartbeat.beat()
        self._warn_of_eviction()
        if self._pending_quiet:
            worker.set_quiet(True)
        self._banner(worker)
        worker.start()
        return worker

    def _worker(self, reliable: bool) -> Worker:
        options = self._options
        plan = Plan(
            concurrency=options.concurrency,
            queues=options.queues,
            reliable=reliable,
            tag=options.tag,
            entries=self._entries,
        )
        return Worker(self._runtime, plan, before=self._before, after=self._after, on_command=self._commands.put)

    def _told_to_stop(self, seconds: float) -> bool:
        try:
            command = self._commands.get(timeout=seconds)
        except queue.Empty:
            return False
        if command in (QUIET, RESUME):
            self._pending_quiet = command == QUIET
        return command in (STOP, STOP_NOW)

    def _supports_reliable(self) -> bool:
        try:
            return self._runtime.store.server.supports_reliable()
        except RedisUnavailable:
            # Away again: the first fetch will tell.
            return True

    def _warn_of_eviction(self) -> None:
        try:
            policy = self._runtime.store.server.eviction_policy()
        except RedisUnavailable:
            return
        if policy not in (None, "noeviction"):
            logger.warning("Redis may throw jobs away: its maxmemory-policy is %s; set it to noeviction", policy)

    def _banner(self, worker: Worker) -> None:
        queues = ", ".join(f"{name} ({weight})" if weight > 1 else name for name, weight in self._options.queues)
        logger.info(
            "cogworker %s started: %s, pid %d, %d threads, queues %s, Redis at %s",
            VERSION,
            worker.identity,
            os.getpid(),
            self._options.concurrency,
            queues,
            self._runtime.config.redis.safe,
        )

    # -- work ----------------------------------------------------------------------------------------

    def _watch(self, worker: Worker) -> None:
        """Acts on commands until one says stop, or, with `--drain`, until everything is done."""
        while True:
            try:
                command = self._commands.get(timeout=DRAIN_LOOK if self._options.drain else SIGNAL_LOOK)
            except queue.Empty:
                if self._options.drain and self._is_drained(worker):
                    logger.info("all queues are empty")
                    return
                continue
            if command in (STOP, STOP_NOW):
                return
            self._obey(worker, command)

    def _obey(self, worker: Worker, command: str) -> None:
        if command in (QUIET, RESUME):
            logger.info("%s: %s", command, "no more jobs are fetched" if command == QUIET else "fetching again")
            worker.set_quiet(command == QUIET)
        elif command == DUMP:
            worker.dump()
        else:
            logger.warning("unknown command %r is ignored", command)

    def _is_drained(self, worker: Worker) -> bool:
        try:
            return worker.drained()
        except CogworkerError:
            # Whatever it is, the threads that meet it tell.
            return False

    # -- end -----------------------------------------------------------------------------------------

    def _stop(self, worker: Worker) -> None:
        timeout = self._runtime.config.shutdown_timeout
        logger.info("stopping: %d running jobs, which have %g s to finish", worker.work.busy, timeout)
        deadline = time.monotonic() + timeout
        worker.close()
        self._wait_for_jobs(worker, deadline)
        worker.finish()
        logger.info("stopped")
        if worker.running:
            # A job that does not end must not keep the process; it is back on its queue.
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def _wait_for_jobs(self, worker: Worker, deadline: float) -> None:
        while worker.at_work and time.monotonic() < deadline:
            try:
                command = self._commands.get(timeout=JOIN_STEP)
            except queue.Empty:
                continue
            if command == STOP_NOW:
                logger.warning("stopping now: unfinished jobs go back to their queues")
                return
            if command == DUMP:
                worker.dump()
