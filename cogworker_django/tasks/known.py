"""What is known of a task, put together from the places that tell of jobs."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.tasks import TaskResultStatus

from cogworker_django import runtime
from cogworker_django.core import text, times
from cogworker_django.core.django_task import BACKEND
from cogworker_django.core.errors import CogworkerError
from cogworker_django.core.lanes import PRIORITY
from cogworker_django.core.payload import DJANGO_TASK, failures
from cogworker_django.store.attempts import Attempt

# Around the lines of an exception group.
_FRAME = " |+-"
OMITTED = "what the task returned was not kept: "
EXPIRED = 'it is kept for as long as COGWORKER["STATUS"] says'
PROCESS_DIED = "ProcessDied"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """One run of a task."""

    began: float | None
    """Epoch seconds."""
    host: str
    """The identity of the process."""
    error_path: str | None = None
    """Where the class of its error can be imported; None unless it failed."""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that the framework's result shows."""

    jid: str
    name: str
    queue: str
    backend: str | None
    """The alias in `TASKS`; None when that is not told."""
    priority: int
    args: list[Any]
    kwargs: dict[str, Any]
    enqueued_at: float | None
    """Epoch seconds, as all times here."""
    run_after: float | None
    status: TaskResultStatus
    runs: Sequence[TaskRun] = field(default_factory=tuple)
    """Oldest first, the one that goes on included."""
    finished_at: float | None = None
    value: Any = None
    no_value: str | None = None
    """Why what it returned is not known."""


def known(payload: Mapping[str, Any], status: TaskResultStatus, **more: Any) -> Known:
    """Read from a payload, or from what a status says of one, what both tell.

    Args:
        payload: the job.
        status: where it stands.
        more: further fields of `Known`.
    """
    said = payload.get(DJANGO_TASK)
    task: Mapping[str, Any] = said if isinstance(said, dict) else {}
    backend, priority = task.get(BACKEND), task.get(PRIORITY)
    return Known(
        jid=payload["jid"],
        name=payload["class"],
        queue=payload["queue"],
        backend=backend if isinstance(backend, str) else None,
        priority=priority if type(priority) is int else 0,
        args=_typed(payload.get("args"), list),
        kwargs=_typed(payload.get("kwargs"), dict),
        enqueued_at=times.told(payload.get("created_at")),
        run_after=times.told(payload.get("at")),
        status=status,
        **more,
    )


def of_running(payload: Mapping[str, Any], host: str, now: float) -> Known:
    """What is known of a task in the process that runs it.

    Args:
        payload: the job.
        host: the identity of the process.
        now: when it began.
    """
    runs = [*earlier_runs(payload), TaskRun(began=now, host=host)]
    return known(payload, TaskResultStatus.RUNNING, runs=runs)


def of_failed(payload: Mapping[str, Any], error: BaseException, host: str, now: float) -> Known:
    """What is known of a task in the process that learns that it has failed for good.

    Args:
        payload: the job.
        error: what it failed with.
        host: the identity of the process that ran it, if its last attempt is not in the log yet.
        now: when it failed.
    """
    runs = earlier_runs(payload)
    if host or not runs:
        lines = text.backtrace(error)
        path = f"{type(error).__module__}.{type(error).__qualname__}"
        runs.append(TaskRun(began=None, host=host, error_path=path, traceback=_joined(lines)))
    return known(payload, TaskResultStatus.FAILED, runs=runs, finished_at=now)


def earlier_runs(payload: Mapping[str, Any]) -> list[TaskRun]:
    """Read the failed attempts of a task whose payload says that there are some, unless Redis is away just now."""
    if not failures(dict(payload)):
        return []
    try:
        return of_attempts(runtime.current().store.attempts.of(payload["jid"]))
    except CogworkerError:
        return []


def of_attempts(attempts: Iterable[Attempt]) -> list[TaskRun]:
    """Make runs of what the log of failed attempts says."""
    return [
        TaskRun(
            began=attempt.failed_at - (attempt.duration or 0.0),
            host=attempt.host,
            error_path=class_path(attempt.error_class, attempt.backtrace),
            traceback=_joined(attempt.backtrace),
        )
        for attempt in attempts
    ]


def of_history(entries: Sequence[Mapping[str, Any]]) -> list[TaskRun]:
    """Make runs of what the history says, which is newest first."""
    return [_of_entry(entry) for entry in reversed(entries)]


def of_death(payload: Mapping[str, Any], runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Add to the runs of a dead task the one that no attempt tells of: its process died, or it never got to run."""
    name = payload.get("error_class")
    if not isinstance(name, str) or (runs and name != PROCESS_DIED):
        return list(runs)
    message = str(payload.get("error_message", ""))
    path = class_path(name, [])
    return [*runs, TaskRun(began=None, host="", error_path=path, traceback=f"{name}: {message}\n")]


def class_path(name: str, backtrace: Sequence[str]) -> str:
    """Find where the class of an error can be imported.

    The attempts log keeps the class's own name; the last line of a traceback that begins with it has its module.

    Args:
        name: of the class.
        backtrace: the lines of its traceback.
    """
    whole = re.compile(rf"((?:[\w.]+\.)?{re.escape(name)})(?::|$)")
    for line in reversed(backtrace):
        found = whole.match(line.lstrip(_FRAME))
        if found and "." in found[1]:
            return found[1]
    if name == PROCESS_DIED:
        return f"cogworker_django.{name}"
    return f"builtins.{name}" if hasattr(builtins, name) else name


def _of_entry(entry: Mapping[str, Any]) -> TaskRun:
    began, host = times.told(entry.get("started_at")), str(entry.get("host", ""))
    if entry.get("status") == "success":
        return TaskRun(began=began, host=host)
    lines = [line for line in _typed(entry.get("backtrace"), list) if isinstance(line, str)]
    path = class_path(str(entry.get("error_class")), lines)
    return TaskRun(began=began, host=host, error_path=path, traceback=_joined(lines))


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _typed(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) else kind()
