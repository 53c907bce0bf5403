"""Puts a worker together for `manage.py cogworker`: one process, a swarm of them, or one that follows the code."""

from __future__ import annotations

import functools
import gc
import logging
import os
import threading

from cogworker_django import conf, connections, reloading, runtime
from cogworker_django.core.errors import CogworkerError, ConfigurationError
from cogworker_django.core.settings import fault
from cogworker_django.core.worker_options import WorkerOptions
from cogworker_django.process.board import Board
from cogworker_django.process.commands import Commands
from cogworker_django.process.door import Door
from cogworker_django.process.link import Link, Refused
from cogworker_django.process.memory import resident_kb
from cogworker_django.process.service import Service
from cogworker_django.swarm.plan import SwarmPlan
from cogworker_django.swarm.supervisor import Supervisor
from cogworker_django.worker.launcher import Launcher
from cogworker_django.worker.limits import JITTER
from cogworker_django.worker.reporter import Reporter

logger = logging.getLogger("cogworker")


class Boot:
    """Starts what the options ask for.

    Args:
        options: flags, file and environment, resolved.
        hangup: what a HUP asks for.
    """

    def __init__(self, options: WorkerOptions, hangup: str) -> None:
        self._options = options
        self._hangup = hangup

    def run(self) -> int:
        """Works until it is told to stop.

        Returns:
            The exit status.

        Raises:
            CogworkerError: it cannot start; the message says why.
        """
        runtime.install(functools.partial(conf.build_runtime, concurrency=self._options.concurrency))
        if self._options.reload and not reloading.is_inner():
            return reloading.follow(self._hangup)
        self._board = Board()
        self._door = self._open_door()
        self._service = Service(os.environ)
        commands = Commands(self._hangup)
        commands.listen()
        return self._swarm(commands) if self._needs_parent else self._single(commands)

    @property
    def _needs_parent(self) -> bool:
        """Several processes do, limits do, and the first process of a container: somebody must bury the orphans."""
        options = self._options
        return options.processes > 1 or options.max_jobs is not None or options.max_rss is not None or os.getpid() == 1

    def _open_door(self) -> Door | None:
        address = self._options.health
        if address is None:
            return None
        try:
            return Door(address, self._board)
        except OSError as error:
            # A name that nobody knows has a number below 0, which only its own text explains.
            number = error.errno or 0
            reason = os.strerror(number) if number > 0 else str(error.strerror or error).partition(" (")[0]
            raise fault("--health", f"nobody can listen on {address}: {reason}.") from None

    def _single(self, commands: Commands) -> int:
        if self._options.reload:
            reloading.watch(commands)
        if self._door is not None:
            self._door.serve()
        return self._work(commands, Reporter(commands, self._service, self._board, tag=self._options.tag))

    def _swarm(self, commands: Commands) -> int:
        # Built once here: what it imports is shared by all, and its faults are told before anything starts.
        config = runtime.current().config
        runtime.reset()
        self._check_memory()
        plan = SwarmPlan(
            processes=self._options.processes,
            drain_time=config.shutdown_timeout,
            phased=self._options.phased_restart,
            hangup=self._hangup,
            tag=self._options.tag,
        )
        connections.close_all()
        _tell_of_threads()
        # What is here now is left alone by the collector, in each child too: pages that nobody writes stay shared.
        gc.collect()
        gc.freeze()
        parts = (plan, commands, self._child, self._board, self._door, self._service)
        supervisor = Supervisor(*parts, prepare=connections.close_all)
        status = supervisor.run()
        if supervisor.problem:
            raise ConfigurationError([supervisor.problem])
        return status

    def _check_memory(self) -> None:
        limit, taken = self._options.max_rss, (resident_kb() or 0) // 1024
        # Also for the process whose limit is lowered most: it would be replaced as soon as it works, again and again.
        if limit is not None and taken >= limit * (1 - JITTER):
            raise fault(
                "--max-rss",
                f"{limit} MiB is too little: a process takes {taken} MiB before its first job, and its limit may be "
                f"a tenth lower by chance.",
            )

    def _child(self, link: Link, commands: Commands, slot: int, quiet: bool) -> int:
        # The parent speaks to the service manager: it knows of all.
        reporter = Reporter(commands, Service({}), link=link, slot=slot, tag=self._options.tag)
        try:
            return self._work(commands, reporter, quiet=quiet)
        except CogworkerError as error:
            link.say(Refused(f"{type(error).__name__}: {error}"))
            return 1

    def _work(self, commands: Commands, reporter: Reporter, *, quiet: bool = False) -> int:
        connections.watch()
        launcher = Launcher(
            runtime.current(),
            self._options,
            conf.load_entries(conf.load_config()),
            commands,
            reporter,
            quiet=quiet,
            before=connections.before_job,
            after=connections.after_job,
        )
        return launcher.run()


def _tell_of_threads() -> None:
    names = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if names:
        logger.info(
            "swarm: the project has started threads, which the processes do not have, and what a thread has locked at "
            "a fork stays locked there: %s",
            ", ".join(names),
        )
