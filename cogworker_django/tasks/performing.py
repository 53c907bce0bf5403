"""Running a task in a worker: its context, its signals, and what becomes of what it returns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from django.dispatch import Signal
from django.tasks import TaskContext, TaskResultStatus
from django.tasks.signals import task_finished, task_started
from django.utils.json import normalize_json

from cogworker_django.core.arguments import checked
from cogworker_django.core.hooks import call_with_fitting
from cogworker_django.definition import Job
from cogworker_django.tasks.errors import UnstorableResult
from cogworker_django.tasks.known import of_failed, of_running
from cogworker_django.tasks.plain import plain
from cogworker_django.tasks.result import CogworkerTaskResult, moment, result_of
from cogworker_django.tasks.task import AnyTask

Seen = dict[str, CogworkerTaskResult]
_SEEN: ContextVar[Seen | None] = ContextVar("cogworker_seen_task_results", default=None)


class TaskJob(Job):
    """The job of a task; for each task there is a subclass with a ``perform``."""

    task: ClassVar[AnyTask]
    sender: ClassVar[type]
    """The class of its backend, which the framework's signals have as their sender."""

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run the task's function; what it raises goes through.

        Returns:
            What it returned, as JSON gives it back.

        Raises:
            UnstorableResult: it returned what is not JSON.
        """
        result = self._running()
        self._tell(task_started, result)
        value = self._kept(self.task.func(*self._context(result), *args, **kwargs))
        self._tell(task_finished, _succeeded(result, value))
        return value

    async def arun(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run the task's coroutine function; see `run`."""
        result = self._running()
        await task_started.asend_robust(self.sender, task_result=result)
        value = self._kept(await self.task.func(*self._context(result), *args, **kwargs))
        await task_finished.asend_robust(self.sender, task_result=_succeeded(result, value))
        return value

    def retry_in(self, count: int, exception: BaseException, payload: Mapping[str, Any]) -> Any:
        """Ask the task's own hook; a task that its hook drops has finished, and nobody else will tell of it."""
        if isinstance(exception, UnstorableResult):
            return "kill"
        hook = getattr(self.task, "retry_in", None)
        answer = None if hook is None else call_with_fitting(hook, count, exception, payload)
        if answer == "discard":
            self._tell_failure(exception)
        return answer

    def retries_exhausted(self, payload: Mapping[str, Any], exception: BaseException) -> None:
        """Tell of the task's end, once it is dead; then its own hook."""
        self._tell_failure(exception)
        hook = getattr(self.task, "retries_exhausted", None)
        if hook is not None:
            call_with_fitting(hook, payload, exception)

    def _running(self) -> CogworkerTaskResult:
        result = result_of(of_running(self.payload, self.worker_id, time.time()), self.task)
        seen = _SEEN.get()
        if seen is not None:
            seen[self.jid] = result
        return result

    def _context(self, result: CogworkerTaskResult) -> tuple[Any, ...]:
        return (TaskContext(task_result=result),) if self.task.takes_context else ()

    def _kept(self, value: Any) -> Any:
        try:
            return checked(plain(normalize_json(value)), "result")
        except (TypeError, ValueError, RecursionError) as error:
            raise UnstorableResult(f"{self.task.module_path} returned what is not JSON: {error}") from error

    def _tell_failure(self, exception: BaseException) -> None:
        result = result_of(of_failed(self.payload, exception, self.worker_id, time.time()), self.task)
        trace = exception.__traceback__
        try:
            # So that receivers find it where the framework puts it: in sys.exception().
            raise exception
        except BaseException:  # noqa: BLE001 - whatever the task has raised
            self._tell(task_finished, result)
        finally:
            exception.__traceback__ = trace

    def _tell(self, signal: Signal, result: CogworkerTaskResult) -> None:
        # Robust: a receiver's error never fails a job (contract, section 9).
        signal.send_robust(self.sender, task_result=result)


@contextmanager
def seen_results() -> Iterator[Seen]:
    """Gather the results of tasks that run on this thread meanwhile, as they do in the inline mode of tests."""
    seen: Seen = {}
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def _succeeded(result: CogworkerTaskResult, value: Any) -> CogworkerTaskResult:
    now = moment(time.time())
    changes = {"status": TaskResultStatus.SUCCESSFUL, "finished_at": now, "_return_value": value}
    for name, change in changes.items():
        object.__setattr__(result, name, change)
    return result
