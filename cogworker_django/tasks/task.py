"""A task with the options of a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    AnyTask = Task[..., Any]
else:
    # Django's own class is not generic; its stubs are.
    AnyTask = Task

OPTIONS = ("retry", "unique", "on_commit", "timeout", "expires_in")
"""The options that a call may replace with `CogworkerTask.using`."""
DEFAULTS = ("retry", "on_commit", "timeout", "expires_in")
"""The options that a backend's ``OPTIONS`` may give to all of its tasks."""
KEEP: Any = object()
"""Stands for an option of `CogworkerTask.using` that is not named, since None is a value of some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CogworkerTask(AnyTask):
    """What ``@task`` makes on our backend; from Django 6.1 on the decorator takes the options, too."""

    retry: bool | int | None = None
    """Retries after the first run: True is 25, False or 0 none; None is what the backend's ``OPTIONS`` say, else 25."""
    unique: str | None = None
    """``"until_executed"``: enqueuing it again while one like it waits or runs gives the result of that one."""
    on_commit: bool | str | None = None
    """True or a database alias: pushed after the commit. None is what the backend's ``OPTIONS`` say, else at once."""
    timeout: float | timedelta | None = None
    """Seconds that a run may take, after which it fails; None is what the backend's ``OPTIONS`` say, else no limit."""
    expires_in: float | timedelta | None = None
    """Seconds after which it is too late to start; None is what the backend's ``OPTIONS`` say, else never."""
    aliases: tuple[str, ...] = ()
    """Earlier module paths under which it still runs."""
    retry_in: Callable[..., Any] | None = None
    """Called with ``(count, exception, payload)`` after a failure; see the hook of `Job`."""
    retries_exhausted: Callable[..., Any] | None = None
    """Called with ``(payload, exception)`` when it has died; see the hook of `Job`."""

    @property
    def cogworker_name(self) -> str:
        """The name of its job, by which ``periodic`` and ``Client.push`` take it for one."""
        return str(self.module_path)

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        retry: bool | int | None = KEEP,
        unique: str | None = KEEP,
        on_commit: bool | str | None = KEEP,
        timeout: float | timedelta | None = KEEP,
        expires_in: float | timedelta | None = KEEP,
    ) -> CogworkerTask:
        """Make the same task with some of its options replaced.

        Args:
            priority: -100 to 100.
            queue_name: the queue.
            run_after: the earliest time to run it.
            backend: the alias in ``TASKS``.
            retry: as the field, and so the rest.
            unique: see the field.
            on_commit: see the field.
            timeout: see the field.
            expires_in: see the field.

        Raises:
            InvalidTask: an option has a wrong value.
        """
        framework = {"priority": priority, "queue_name": queue_name, "run_after": run_after, "backend": backend}
        changes: dict[str, Any] = {name: value for name, value in framework.items() if value is not None}
        ours: dict[str, Any] = {"retry": retry, "unique": unique, "on_commit": on_commit}
        ours |= {"timeout": timeout, "expires_in": expires_in}
        changes |= {name: value for name, value in ours.items() if value is not KEEP}
        return replace(self, **changes)


def options_of(task: AnyTask, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options for the payload of a task, ours or one that was defined for another backend.

    Args:
        task: the task.
        defaults: for those that the task leaves open.
    """
    named = {name: getattr(task, name, None) for name in OPTIONS}
    given = {name: value for name, value in named.items() if value is not None}
    general = {name: defaults[name] for name in DEFAULTS if name in defaults}
    return {"retry": True, **general, **given}
