"""`manage.py cogworker`: a worker, or a swarm of them, in the foreground (Contract 4)."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand

from cogworker_django import checks, conf
from cogworker_django.boot import Boot
from cogworker_django.core.config import Config
from cogworker_django.core.errors import CogworkerError, ConfigurationError
from cogworker_django.core.settings import Problems, fault
from cogworker_django.core.text import one_line
from cogworker_django.core.worker_options import ConfigFile, Flags, WorkerOptions
from cogworker_django.process import logs, streams
from cogworker_django.process.commands import REOPEN, STOP

PROBLEM_LIMIT = 1_000  # characters of one line


class Command(BaseCommand):
    """Runs jobs until it is told to stop."""

    help = "Runs jobs until it is told to stop (TERM or INT)."
    # Our own checks run in `handle`, which tells each problem in one line; a worker serves no pages.
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take every value as text: it is checked together with the settings, not by argparse."""
        parser.add_argument("-c", "--concurrency", metavar="N", help="threads that run jobs")
        parser.add_argument(
            *("-q", "--queue"),
            action="append",
            default=[],
            metavar="NAME[,WEIGHT]",
            help="a queue to work on; repeat it for more",
        )
        parser.add_argument("-C", "--config", metavar="FILE.toml", help="concurrency, queues, fetch, processes")
        parser.add_argument("-L", "--logfile", metavar="LOGFILE", help="append the log to this file")
        parser.add_argument("--fetch", metavar="MODE", help="reliable, or basic")
        parser.add_argument("-p", "--processes", metavar="N", help="worker processes")
        parser.add_argument("--phased-restart", action="store_true", help="USR2 restarts one process after the other")
        parser.add_argument("--max-jobs", metavar="N", help="replace a process after so many jobs")
        parser.add_argument("--max-rss", metavar="MIB", help="replace a process that takes so much memory")
        parser.add_argument("--health", metavar="HOST:PORT", help="answer /livez, /readyz and /metrics there")
        parser.add_argument("--reload", action="store_true", help="restart when code changes; for development")
        parser.add_argument("--drain", action="store_true", help="stop when all queues are empty")
        parser.add_argument("--tag", metavar="TEXT", help="shown with this process")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run the worker, and exit with its status; with 1 if it cannot start."""
        streams.fill()
        try:
            told = self._resolve(options)
            hangup = REOPEN if options["logfile"] is not None else STOP
            status = Boot(told, hangup).run()
        except ConfigurationError as error:
            self._refuse(*error.problems)
        except CogworkerError as error:
            self._refuse(f"{type(error).__name__}: {error}")
        if status:
            sys.exit(status)

    def _resolve(self, options: dict[str, Any]) -> WorkerOptions:
        """Find every fault before anything starts."""
        problems, file = Problems(), None
        problems.found.extend(str(message.msg) for message in checks.check_cogworker())
        with problems:
            file = _read_file(options["config"])
        with problems:
            _install_log(options["logfile"])
        with problems:
            told = WorkerOptions.resolve(_known_config(), _flags(options), file, os.environ)
        problems.check()
        return told

    def _refuse(self, *problems: str) -> NoReturn:
        for problem in problems:
            self.stderr.write(one_line(problem, PROBLEM_LIMIT))
        sys.exit(1)


def _flags(options: dict[str, Any]) -> Flags:
    return Flags(
        concurrency=options["concurrency"],
        queues=tuple(map(_decoded, options["queue"])),
        fetch=options["fetch"],
        tag=None if options["tag"] is None else _decoded(options["tag"]),
        processes=options["processes"],
        max_jobs=options["max_jobs"],
        max_rss=options["max_rss"],
        health=options["health"],
        drain=options["drain"],
        reload=options["reload"],
        phased_restart=options["phased_restart"],
    )


def _decoded(word: str) -> str:
    """Read a word of the command line as UTF-8, also where the locale is C and Python has not."""
    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        return word


def _known_config() -> Config:
    """With faulty settings, which are told already, the defaults: those of the flags are found too."""
    try:
        return conf.load_config()
    except ConfigurationError:
        return Config()


def _install_log(path: str | None) -> None:
    try:
        logs.install(Path(path) if path is not None else None)
    except OSError as error:
        raise fault(f"-L {path}", f"the file cannot be opened: {error}.") from None


def _read_file(path: str | None) -> ConfigFile | None:
    if path is None:
        return None
    try:
        return ConfigFile(path=path, content=Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise fault(f"-C {path}", f"the file cannot be read: {error}.") from None
