"""Jobs of every kind. Each leaves a `Run`, so that it can be told afterwards what happened."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from cogworker_django import Job, current_job, job, periodic
from demo.models import Run

logger = logging.getLogger("demo")

SLOW_STEPS = 10
NEVER_FINISHED = 60.0  # seconds that the first run of `Interrupted` would take


class Greeting(Job):
    """The simplest one."""

    def perform(self, name: str) -> None:
        """Greet somebody."""
        logger.info("Hello, %s!", name)
        Run.objects.create(jid=self.jid, job="greeting", note=name)


class Flaky(Job, retry=5):
    """Fails at first, as a service that is down for a moment makes a job fail."""

    def perform(self, failures: int) -> None:
        """Fail so many times, then succeed."""
        Run.objects.create(jid=self.jid, job="flaky")
        attempt = Run.objects.filter(jid=self.jid).count()
        if attempt <= failures:
            raise ConnectionError(f"attempt {attempt}: the service is away")
        logger.info("The service answered at attempt %d", attempt)

    def retry_in(self, count: int, exception: BaseException, payload: Mapping[str, Any]) -> float:
        """Try again soon: the usual delays begin at 15 seconds."""
        return 0.2 * (count + 1)


class Slow(Job):
    """Takes a while and tells how far it is."""

    def perform(self, seconds: float) -> dict[str, int]:
        """Work in steps."""
        for step in range(SLOW_STEPS):
            self.at(100 * step / SLOW_STEPS, f"step {step + 1} of {SLOW_STEPS}")
            time.sleep(seconds / SLOW_STEPS)
        Run.objects.create(jid=self.jid, job="slow", note=f"{SLOW_STEPS} steps")
        return {"steps": SLOW_STEPS}


class Interrupted(Job):
    """Runs so long that its process is killed under it; the next run knows, and finishes."""

    def perform(self) -> None:
        """Wait for the end at first, and finish the second time."""
        first = not Run.objects.filter(jid=self.jid).exists()
        Run.objects.create(jid=self.jid, job="interrupted", note="begun" if first else "finished")
        if first:
            time.sleep(NEVER_FINISHED)


class Closing(Job, unique="until_executed"):
    """Closes a month: there is never more than one at it."""

    def perform(self, month: str, seconds: float) -> None:
        """Work for a while."""
        time.sleep(seconds)
        Run.objects.create(jid=self.jid, job="closing", note=month)


@job(queue="low")
def tidy_up(what: str) -> None:
    """Do what can wait."""
    _record("tidy up", what)


@periodic("* * * * *", name="every minute")
@job
def minute_by_minute() -> None:
    """Run once a minute."""
    _record("every minute", "")


@job
def punctual() -> None:
    """Tell when it ran."""
    _record("punctual", "")


@job(retry=0)
def hopeless(reason: str) -> None:
    """Fail for good."""
    raise RuntimeError(reason)


@job(queue="low", retry=3)
def import_row(number: int) -> None:
    """Import one of many rows."""
    _record("import", str(number))


def report_death(payload: Mapping[str, Any], exception: BaseException) -> None:
    """Tell that a job has gone to Dead (`DEATH_HANDLERS`)."""
    logger.error("%s is dead: %s", payload["class"], exception)


def _record(name: str, note: str) -> None:
    running = current_job()
    Run.objects.create(jid=running.jid if running else "", job=name, note=note)
