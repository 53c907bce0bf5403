"""Boot and end of a worker process, and its signals (reference, sections 24 and 25)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence

from cogworker_django.core.entry import Entry
from cogworker_django.core.errors import CogworkerError, RedisUnavailable
from cogworker_django.core.events import Event
from cogworker_django.core.settings import fault
from cogworker_django.core.version import VERSION
from cogworker_django.core.worker_options import WorkerOptions
from cogworker_django.process import logs, streams
from cogworker_django.process.commands import (
    CHANGED,
    CODE_CHANGED,
    DUMP,
    FULL,
    QUIET,
    REOPEN,
    RESUME,
    RETIRE,
    STOP,
    STOP_NOW,
    Commands,
)
from cogworker_django.process.condition import Phase
from cogworker_django.runtime import Runtime
from cogworker_django.store.process_reader import CANCEL, Signal
from cogworker_django.worker.limits import Limits
from cogworker_django.worker.reporter import Reporter
from cogworker_django.worker.worker import Plan, Worker

logger = logging.getLogger("cogworker")

LEAVING = (STOP, STOP_NOW, RETIRE, CHANGED)
# A stop from afar is meant for good; the parent of a swarm is told so.
FROM_AFAR: dict[str, str] = {Signal.QUIET: QUIET, Signal.RESUME: RESUME, Signal.STOP: RETIRE}
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
        commands: what the process is told to do; it listens to signals already.
        reporter: tells those around how it is.
        quiet: whether it begins without fetching.
        before: called on a processor thread before each job.
        after: called after each job.
    """

    def __init__(
        self,
        runtime: Runtime,
        options: WorkerOptions,
        entries: Sequence[Entry],
        commands: Commands,
        reporter: Reporter,
        *,
        quiet: bool = False,
        before: Callable[[], None],
        after: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._options = options
        self._entries = entries
        self._commands = commands
        self._reporter = reporter
        self._limits = Limits(options.max_jobs, options.max_rss, lambda: commands.put(FULL))
        self._before = before
        self._after = after
        self._phase = Phase.BOOTING
        self._pending_quiet = quiet
        self._told = ""

    def run(self) -> int:
        """Boots, works until it is told to stop, and stops.

        Returns:
            The exit status: 0 after a clean stop, 3 when it has stopped for new code.
        """
        try:
            worker = self._boot()
            if worker is None:
                logger.info("stopped before Redis was there")
            else:
                self._told = self._watch(worker)
                self._stop(worker)
            return self._status
        finally:
            self._runtime.store.close()
            self._commands.ignore()

    @property
    def _status(self) -> int:
        return CODE_CHANGED if self._told == CHANGED else 0

    def _tell(self, worker: Worker | None, *, now: bool = False) -> None:
        self._reporter.tell(self._phase, worker, self._limits, now=now)

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
        self._phase = Phase.WORKING
        if self._pending_quiet:
            self._set_quiet(worker, True)
        self._banner(worker)
        self._announce(Event.WORKER_STARTED, worker)
        self._start(worker)
        self._reporter.ready()
        self._tell(worker, now=True)
        return worker

    def _start(self, worker: Worker) -> None:
        try:
            worker.start()
        except RuntimeError as error:
            # It is listed and may have fetched: nothing of that may stay behind. It says nothing: it has not started.
            worker.close()
            deadline = time.monotonic() + self._runtime.config.shutdown_timeout
            while worker.at_work and time.monotonic() < deadline:
                time.sleep(JOIN_STEP)
            worker.abandon()
            number = self._options.concurrency
            reason = f"the system does not give {number} threads ({error}); ask for fewer, or raise its limits."
            raise fault("--concurrency", reason) from error

    def _worker(self, reliable: bool) -> Worker:
        options = self._options
        plan = Plan(
            concurrency=options.concurrency,
            queues=options.queues,
            reliable=reliable,
            tag=options.tag,
            entries=self._entries,
        )
        return Worker(
            self._runtime,
            plan,
            before=self._before,
            after=self._after,
            on_command=self._hear_from_afar,
            swarm=self._reporter.swarm,
            counted=self._limits.count if self._limits.counts else None,
        )

    def _hear_from_afar(self, command: str) -> None:
        if command in FROM_AFAR or command.startswith(CANCEL):
            self._commands.put(FROM_AFAR.get(command, command))
        else:
            logger.warning("unknown command %r is ignored", command)

    def _told_to_stop(self, seconds: float) -> bool:
        self._tell(None)
        command = self._commands.get(seconds)
        if command in (QUIET, RESUME):
            self._pending_quiet = command == QUIET
        elif command == REOPEN:
            logs.reopen()
        elif command in LEAVING:
            self._told = command
        return bool(self._told)

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

    def _watch(self, worker: Worker) -> str:
        """Acts on commands until one says stop, or, with `--drain`, until everything is done; which one it was."""
        while True:
            command = self._commands.get(DRAIN_LOOK if self._options.drain else SIGNAL_LOOK)
            self._tell(worker, now=command is not None)
            if command in LEAVING:
                if command == RETIRE:
                    self._reporter.leaving("retired")
                return command
            if command is not None:
                self._obey(worker, command)
            elif self._options.drain and self._is_drained(worker):
                logger.info("all queues are empty")
                self._reporter.leaving("drained")
                return STOP

    def _obey(self, worker: Worker, command: str) -> None:
        if command in (QUIET, RESUME):
            logger.info("%s: %s", command, "no more jobs are fetched" if command == QUIET else "fetching again")
            self._set_quiet(worker, command == QUIET)
        elif command == DUMP:
            worker.dump()
        elif command == REOPEN:
            logs.reopen()
        elif command.startswith(CANCEL):
            worker.cancel(command.removeprefix(CANCEL))
        elif command != FULL:
            logger.warning("unknown command %r is ignored", command)

    def _set_quiet(self, worker: Worker, quiet: bool) -> None:
        self._phase = Phase.QUIET if quiet else Phase.WORKING
        worker.set_quiet(quiet)
        self._reporter.quiet(quiet)

    def _is_drained(self, worker: Worker) -> bool:
        try:
            return worker.drained()
        except CogworkerError:
            # Whatever it is, the threads that meet it tell.
            return False

    # -- end -----------------------------------------------------------------------------------------

    def _stop(self, worker: Worker) -> None:
        self._phase = Phase.STOPPING
        self._reporter.stopping()
        self._tell(worker, now=True)
        timeout = self._runtime.config.shutdown_timeout
        logger.info("stopping: %d running jobs, which have %g s to finish", worker.work.busy, timeout)
        deadline = time.monotonic() + timeout
        worker.close()
        self._announce(Event.WORKER_STOPPING, worker)
        self._wait_for_jobs(worker, deadline)
        worker.interrupt()
        worker.finish()
        logger.info("stopped")
        if worker.running:
            # A job that does not end must not keep the process; it is back on its queue.
            logging.shutdown()
            streams.flush()
            os._exit(self._status)

    def _announce(self, event: Event, worker: Worker) -> None:
        if self._runtime.announcer.wanted(event):
            self._runtime.announcer.tell(event, identity=worker.identity)

    def _wait_for_jobs(self, worker: Worker, deadline: float) -> None:
        while worker.at_work and time.monotonic() < deadline:
            command = self._commands.get(JOIN_STEP)
            self._tell(worker)
            if command == STOP_NOW:
                logger.warning("stopping now: unfinished jobs go back to their queues")
                return
            if command == DUMP:
                worker.dump()
            elif command == REOPEN:
                logs.reopen()
            elif command is not None and command.startswith(CANCEL):
                worker.cancel(command.removeprefix(CANCEL))
