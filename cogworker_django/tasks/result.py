"""The framework's result of a task, filled with what is known."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.tasks import TaskResult, TaskResultStatus
from django.tasks.base import TASK_REFRESH_ATTRS, TaskError
from django.utils.timezone import make_naive

from cogworker_django.core import times
from cogworker_django.tasks.known import OMITTED, Known
from cogworker_django.tasks.task import AnyTask

if TYPE_CHECKING:
    AnyResult = TaskResult[..., Any]
else:
    # Django's own class is not generic; its stubs are.
    AnyResult = TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CogworkerTaskResult(AnyResult):  # type: ignore[misc]
    """A result that tells when what the task returned is not known, instead of giving None for it."""

    no_value: str | None = field(default=None, compare=False)
    """Why what a successful task returned is not known; None when it is."""

    @property
    def return_value(self) -> Any:
        """What the task has returned.

        Raises:
            ValueError: it has not finished, it has failed, or what it returned was not kept.
        """
        if self.status == TaskResultStatus.SUCCESSFUL and self.no_value is not None:
            raise ValueError(f"{OMITTED}{self.no_value}")
        return TaskResult.return_value.fget(self)  # type: ignore[attr-defined]

    def refresh(self) -> None:
        """Read anew how the task stands.

        Raises:
            TaskResultDoesNotExist: nothing is known of it any more.
            RedisUnavailable: Redis is away.
        """
        latest = self.task.get_backend().get_result(self.id)
        for name in (*TASK_REFRESH_ATTRS, "no_value"):
            object.__setattr__(self, name, getattr(latest, name))

    async def arefresh(self) -> None:
        """Do `refresh` without blocking the event loop."""
        await asyncio.to_thread(self.refresh)


def result_of(known: Known, task: AnyTask) -> CogworkerTaskResult:
    """Make a result.

    Args:
        known: what is known.
        task: the task as it is defined; its queue, priority and time become those it was enqueued with.
    """
    alias = known.backend or task.backend
    run_after = moment(known.run_after)
    own = {"queue_name": known.queue, "priority": known.priority, "run_after": run_after, "backend": alias}
    result = CogworkerTaskResult(
        task=as_enqueued(task, own),
        id=known.jid,
        status=known.status,
        enqueued_at=moment(known.enqueued_at),
        started_at=moment(known.runs[0].began) if known.runs else None,
        finished_at=moment(known.finished_at),
        last_attempted_at=moment(known.runs[-1].began) if known.runs else None,
        args=known.args,
        kwargs=known.kwargs,
        backend=alias,
        errors=[
            TaskError(exception_class_path=run.error_path, traceback=run.traceback)
            for run in known.runs
            if run.error_path is not None
        ],
        worker_ids=[run.host for run in known.runs if run.host],
        no_value=known.no_value,
    )
    object.__setattr__(result, "_return_value", known.value)
    return result


def as_enqueued(task: AnyTask, own: dict[str, Any]) -> AnyTask:
    """Copy a task with what one call had of its own.

    Without the framework's check: what is on a queue is there, whatever the settings have become since.
    """
    if all(getattr(task, name) == value for name, value in own.items()):
        return task
    values = {each.name: getattr(task, each.name) for each in fields(task)} | own
    copy: AnyTask = object.__new__(type(task))
    for name, value in values.items():
        object.__setattr__(copy, name, value)
    return copy


def moment(epoch: float | None) -> datetime | None:
    """Make a time as Django's settings want it: aware, or naive in the current zone."""
    if epoch is None or not times.EARLIEST <= epoch <= times.LATEST:
        return None
    aware = datetime.fromtimestamp(epoch, UTC)
    return aware if settings.USE_TZ else make_naive(aware)
