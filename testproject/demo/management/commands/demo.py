"""`manage.py demo`: everything at work in one terminal; `--check`: the same, proved and gone again."""

from __future__ import annotations

import logging
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError

from cogworker_django import CogworkerError, Stats
from cogworker_django.embedded import EmbeddedServerError
from demo.jobs import Flaky, Greeting, Slow, hopeless, import_row, punctual, tidy_up
from demo.models import Run
from demo.proofs import NotProved, Proofs, told
from demo.site import NAME, PASSWORD
from demo.stage import Stage, Swarm, stage

CHECK_THRESHOLD = 2.0  # seconds: a killed process is noticed soon
SHOW_THRESHOLD = 10.0
WORKERS = 2
NAMES = ("Ada", "Grace", "Edsger")
ROWS = 1000
SUCCEED = len(NAMES) + 4 + ROWS  # of the jobs that are shown; the one that is left dies
LOOK = 0.2  # seconds between two looks at how far they are
LOG_TAIL = 30  # lines of the workers' log that are shown when something was not proved


class Command(BaseCommand):
    """Starts a server, a database and workers of its own, and gives them something to do."""

    help = "Shows jobs at work, with a server, a database and workers of its own. Ctrl-C stops all of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take `--check`."""
        parser.add_argument("--check", action="store_true", help="prove that all of it works, and end")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Show, or prove."""
        # A TERM takes everything down as Ctrl-C does.
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            if options["check"]:
                self._check()
            else:
                self._show()
        except (EmbeddedServerError, CogworkerError) as error:
            raise CommandError(str(error)) from None

    def _show(self) -> None:
        try:
            with stage(orphan_threshold=SHOW_THRESHOLD, log=False) as opened:
                self._say(f"Redis      {opened.server.url}")
                self._say(f"Database   {opened.folder / 'db.sqlite3'}")
                self._say(f"Pages      {opened.address}  (log in as {NAME} with the password {PASSWORD})")
                self._say(f"Workers    {WORKERS} processes; their log follows. Ctrl-C stops all of it.")
                self._push()
                self._wait(opened.start_workers(WORKERS))
        except KeyboardInterrupt:
            self._say("All stopped.")

    def _push(self) -> None:
        self._say("Jobs       3 greetings, one that fails twice, one that dies, one of 8 s, one in 10 s, one of low")
        self._say(f"           and an import of {ROWS:,} rows, each one a job, summed up in one line")
        for name in NAMES:
            Greeting.perform_async(name)
        Flaky.perform_async(2)
        Slow.perform_async(8)
        hopeless.perform_async("this one was never meant to work")
        punctual.perform_in(10)
        tidy_up.perform_async("the attic")
        import_row.perform_bulk([(number,) for number in range(ROWS)])

    def _wait(self, swarm: Swarm) -> None:
        news = self._news()
        while swarm.runs:
            for line in next(news, ()):
                self._say(line)
            time.sleep(LOOK)
        raise CommandError("All workers have ended by themselves: their log tells why.")

    def _news(self) -> Iterator[list[str]]:
        """What there is to say at each look."""
        began, rows = time.monotonic(), Run.objects.filter(job="import")
        while rows.count() < ROWS:
            yield []
        yield [f"Import     all {ROWS:,} rows are in after {time.monotonic() - began:.1f} s"]
        while Stats().processed < SUCCEED or not Stats().dead_size:
            yield []
        stats = Stats()
        yield [
            f"Done       {stats.processed:,} jobs succeeded, {stats.failed} runs failed, {stats.dead_size} job is dead",
            "           The workers wait for more. Ctrl-C stops all of it.",
        ]

    def _check(self) -> None:
        began = time.monotonic()
        # One line a proof: what the pages log of their actions is not for here; the workers' log is in a file.
        logging.getLogger("cogworker").setLevel(logging.WARNING)
        try:
            with stage(orphan_threshold=CHECK_THRESHOLD, log=True) as opened:
                self._prove(opened)
        except KeyboardInterrupt:
            sys.exit(130)
        self._say(f"All proved in {time.monotonic() - began:.1f} s.")

    def _prove(self, opened: Stage) -> None:
        for name, proof in Proofs(opened).all():
            try:
                with told():
                    line = proof()
            except NotProved as error:
                self._say(f"FAILED  {name}: {error}")
                self._show_log(opened)
                sys.exit(1)
            self._say(f"ok  {name}: {line}")

    def _show_log(self, opened: Stage) -> None:
        if opened.log is not None and opened.log.exists():
            lines = opened.log.read_text(encoding="utf-8", errors="replace").splitlines()
            self._say("\n".join(["The end of the workers' log:", *lines[-LOG_TAIL:]]))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
