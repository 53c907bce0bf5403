"""One run of a job, from its payload to an outcome. Nothing is written, and nothing escapes."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from types import CoroutineType
from typing import Any

from cogworker_django.core.errors import JobTimeout
from cogworker_django.core.events import SILENCE, Announcer, Event
from cogworker_django.core.middleware import Chain
from cogworker_django.core.outcome import Failed, Interrupted, Outcome, Succeeded
from cogworker_django.core.payload import Payload
from cogworker_django.core.registry import Registry
from cogworker_django.core.text import job_label
from cogworker_django.current import running
from cogworker_django.definition import Job, Reporter, silent
from cogworker_django.worker.deadlines import Deadlines
from cogworker_django.worker.event_loop import CutOff, EventLoop

logger = logging.getLogger("cogworker")


LONGEST = 1e9
"""Seconds, some thirty years: a longer time is no limit."""


class _Forks:
    """Counts the forks that led to this process: cheaper to look at than the process id, which is a system call."""

    number = 0

    def count(self) -> None:
        self.number += 1


_forks = _Forks()
os.register_at_fork(after_in_child=_forks.count)


class Runner:
    """Runs jobs.

    Args:
        registry: which class runs under which name.
        chain: the server middleware.
        before: called on the thread before each run; refreshes database connections.
        after: called after each run.
        identity: of the process, which each job is told.
        announcer: is told of the start and the end of each run.
    """

    def __init__(
        self,
        registry: Registry[type[Job]],
        chain: Chain,
        before: Callable[[], None],
        after: Callable[[], None],
        identity: str = "",
        announcer: Announcer = SILENCE,
    ) -> None:
        self.loop = EventLoop()
        """Where coroutines run."""
        self.jobs: dict[int, Job] = {}
        """What runs, by its thread."""
        self._deadlines = Deadlines()
        self._thread = threading.local()
        self._registry = registry
        self._chain = chain.over(self.loop)
        self._before = before
        self._after = after
        self._identity = identity
        self._announcer = announcer
        self._forks = _forks.number

    def run(self, payload: Payload, queue: str, report: Reporter | None = None) -> Outcome:
        """Runs a job inside the server chain (reference, section 11).

        Any exception is the job's failure: exits and interrupts too, those of middleware, and a name that no job
        has, which is raised inside the chain so that middleware sees it.

        Args:
            payload: as read; middleware and the job may change it.
            queue: where it was fetched.
            report: takes what the job tells about itself, if anybody wants to know.
        """
        self._thread.interrupted = False
        outcome = self._outcome(payload, queue, report)
        if self._thread.interrupted:
            # Whatever middleware has made of it: the job was cut off, and must run again.
            outcome = Interrupted()
        self._announce(payload, outcome)
        try:
            self._after()
        except BaseException:
            # It has run: what fails from here on changes nothing about that.
            label = job_label(payload.get("class"), payload.get("jid"))
            logger.exception("what comes after each job failed after %s", label)
        return outcome

    def _outcome(self, payload: Payload, queue: str, report: Reporter | None) -> Outcome:
        # Kept apart from `run`: a traceback holds this frame, which must not hold the outcome and so the traceback.
        try:
            self._before()
            if self._announcer.wanted(Event.JOB_STARTED):
                self._announcer.tell(Event.JOB_STARTED, payload=payload)
            return Succeeded(self._inside(payload, queue, report or silent))
        except BaseException as error:  # noqa: BLE001 - whatever a job raises, the thread survives
            return Failed(error)

    def _announce(self, payload: Payload, outcome: Outcome) -> None:
        if isinstance(outcome, Failed):
            if self._announcer.wanted(Event.JOB_FAILED):
                self._announcer.tell(Event.JOB_FAILED, payload=payload, error=outcome.error)
        elif isinstance(outcome, Succeeded) and self._announcer.wanted(Event.JOB_SUCCEEDED):
            self._announcer.tell(Event.JOB_SUCCEEDED, payload=payload, result=outcome.result)

    def aside(self, step: Callable[[], None]) -> None:
        """Runs other code of users on this thread, with the same care for database connections."""
        self._before()
        try:
            step()
        finally:
            self._after()

    def _inside(self, payload: Payload, queue: str, report: Reporter) -> Any:
        if self._chain.empty:
            return self._perform(self._start(payload, report))
        try:
            job = self._start(payload, report)
        except BaseException as error:  # noqa: BLE001 - raised again inside the chain
            return self._chain.invoke(_raiser(error), None, payload, queue)
        return self._chain.invoke(lambda: self._perform(job), job, payload, queue)

    def _start(self, payload: Payload, report: Reporter) -> Job:
        job = self._registry.resolve(payload["class"]).start(payload, report)
        job.worker_id = self._identity
        return job

    def _perform(self, job: Job) -> Any:
        payload = job.payload
        thread = threading.get_ident()
        self.jobs[thread] = job
        with running(job):
            try:
                return self._call(partial(job.perform, *payload["args"], **payload.get("kwargs", {})), job)
            except CutOff:
                self._thread.interrupted = True
                raise
            finally:
                if _forks.number != self._forks:
                    _end_child(job.jid)
                del self.jobs[thread]

    def _call(self, perform: Callable[[], Any], job: Job) -> Any:
        """Runs a job; one that is a coroutine on the event loop, to its end."""
        timeout = time_limit(job.payload)
        result = perform() if timeout is None else self._in_time(perform, timeout)
        return self.loop.run(result, timeout, job.jid) if type(result) is CoroutineType else result

    def _in_time(self, perform: Callable[[], Any], timeout: float) -> Any:
        try:
            deadline = self._deadlines.arm(timeout)
            try:
                return perform()
            finally:
                self._deadlines.release(deadline)
        except JobTimeout as error:
            # Python makes it without a word.
            if not error.args:
                error.args = (f"it ran longer than {timeout:g} s",)
            raise

    def close(self) -> None:
        """Ends the event loop and the watch over time limits."""
        self.loop.close()
        self._deadlines.close()


def time_limit(payload: Mapping[str, Any]) -> float | None:
    """The seconds that a job may run; None when it may run as long as it likes, or says nonsense."""
    timeout: Any = payload.get("timeout")
    return timeout if type(timeout) in (int, float) and 0 < timeout <= LONGEST else None


def _end_child(jid: str) -> None:
    """Ends a process that the job has forked and that came out of `perform`: it is no worker, and with this
    process's tokens and connections in its memory it would settle and fetch as if it were this one.
    """
    error = sys.exception()
    clean = error is None or (isinstance(error, SystemExit) and not error.code)
    logger.log(
        logging.WARNING if clean else logging.ERROR,
        "a process forked by jid=%s came out of its job and ends here: end it with os._exit",
        jid,
        exc_info=None if clean else error,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if clean else 1)


def _raiser(error: BaseException) -> Callable[[], Any]:
    def raise_it() -> Any:
        raise error

    return raise_it
