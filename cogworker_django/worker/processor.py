"""One worker thread: it takes a job, runs it, and hands the verdict over. It survives everything."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable

from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.outcome import Failed, Interrupted, Succeeded
from cogworker_django.core.payload import Payload, read
from cogworker_django.core.text import error_class, error_message, job_label, one_line
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.exchange import Chore
from cogworker_django.worker.gates import Gate
from cogworker_django.worker.handout import Handout
from cogworker_django.worker.judge import Judge, label_of
from cogworker_django.worker.recorder import Run
from cogworker_django.worker.reports import Report, Reports
from cogworker_django.worker.runner import Runner

logger = logging.getLogger("cogworker")

ERROR_PAUSE = 1.0
"""Seconds that a thread rests after an error of its own, so that a repeated one does not spin."""


class Processor:
    """A thread of the worker.

    Args:
        number: its number in the process, from 1.
        handout: where jobs come from and verdicts go.
        runner: runs the job.
        judge: decides about it.
        reports: takes along what it tells about itself.
        counted: called after each job; None where nobody counts.
    """

    def __init__(
        self,
        number: int,
        handout: Handout,
        runner: Runner,
        judge: Judge,
        reports: Reports,
        counted: Callable[[], None] | None = None,
    ) -> None:
        self.name = f"cogworker-{number}"
        self.delivery: Delivery | None = None
        """The job it runs."""
        self.since = 0.0
        """Since when, epoch seconds."""
        self.processed = self.failed = 0
        """Jobs that have run on this thread, and how many of them failed."""
        self.report: Report | None = None
        """What the job tells about itself."""
        self.thread = threading.Thread(target=self._loop, name=self.name, daemon=True)
        self._handout = handout
        self._runner = runner
        self._judge = judge
        self._reports = reports
        self._counted = counted
        self._gate = Gate()

    def start(self) -> None:
        """Starts the thread."""
        self.thread.start()

    def _loop(self) -> None:
        while True:
            try:
                if not self._step():
                    return
            except BaseException:
                logger.exception("%s met an error and goes on", self.name)
                time.sleep(ERROR_PAUSE)

    def _step(self) -> bool:
        work = self._handout.take(self._gate)
        if work is None:
            return False
        if isinstance(work, Delivery):
            self._process(work)
        else:
            self._do(work)
        return True

    def _process(self, delivery: Delivery) -> None:
        self.since = time.time()
        self.delivery = delivery
        try:
            self._run(delivery)
        finally:
            self.delivery = self.report = None
            self.processed += 1
            if self._counted is not None:
                self._counted()

    def _do(self, chore: Chore) -> None:
        """Runs death hooks: code of users, which may use the database like a job."""
        self._runner.aside(chore)

    def _run(self, delivery: Delivery) -> None:
        began = time.monotonic()
        try:
            payload = read(delivery.raw)
        except UnreadablePayload as error:
            self._handout.settle(self._judge.unreadable(delivery, error))
            return
        # Told now: the run may take the payload apart.
        name, jid = payload["class"], payload["jid"]
        dropped = self._judge.dropped(delivery, payload)
        if dropped is not None:
            _log(logging.INFO, "drop: %s %s", job_label(name, jid), dropped.outlook)
            self._handout.settle(dropped)
            return
        talkative = logger.isEnabledFor(logging.INFO)
        if talkative:
            _log(logging.INFO, "start: %s", job_label(name, jid))
        self.report = report = self._reports.open(delivery.token, payload)
        outcome = self._runner.run(payload, delivery.queue, report)
        if isinstance(outcome, Interrupted):
            # It stays in hand, and goes back with whatever else has not ended.
            _log(logging.WARNING, "interrupt: %s", job_label(name, jid))
            return
        seconds = time.monotonic() - began
        # It has run: whatever goes wrong from here on, it must not run again because of that.
        run = Run(self.since, seconds, report.close() if report else {})
        self._settle(delivery, payload, outcome, run)
        self._handout.job_took(seconds)
        if isinstance(outcome, Failed):
            self.failed += 1
            # Its frames hold what the job held, and lead back to this one, which must not hold it either: else all
            # of that would wait for the garbage collector (case B089).
            traceback.clear_frames(outcome.error.__traceback__)
            del outcome
        elif talkative:
            _log(logging.INFO, "done: %s in %.3f s", job_label(name, jid), seconds)

    def _settle(self, delivery: Delivery, payload: Payload, outcome: Succeeded | Failed, run: Run) -> None:
        try:
            if isinstance(outcome, Failed):
                settlement = self._judge.failure(delivery, payload, outcome.error, run)
                _log_failure(delivery, outcome.error, settlement.outlook)
            else:
                success = self._judge.success(delivery, payload, outcome.result, run)
                if success is None:
                    self._handout.done(delivery.token)
                    return
                settlement = success
        except BaseException as bug:
            logger.exception("the end of %s could not be recorded as it should", label_of(delivery))
            if not isinstance(outcome, Failed):
                self._handout.done(delivery.token)
                return
            settlement = self._judge.interrupt(delivery, bug, run)
        self._handout.settle(settlement)


def _log_failure(delivery: Delivery, error: BaseException, outlook: str) -> None:
    reason = f"{error_class(error)}: {one_line(error_message(error), 500)}"
    _log(logging.WARNING, "fail: %s: %s (%s)", label_of(delivery), reason, outlook)


def _log(level: int, line: str, *args: object) -> None:
    """Logs about a job; a logger that fails must not change the job's fate."""
    try:
        logger.log(level, line, *args)
    except Exception:  # noqa: BLE001
        return
