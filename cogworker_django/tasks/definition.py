"""From a task to the job that runs it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.tasks.exceptions import InvalidTask

from cogworker_django import definition
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.django_task import BACKEND
from cogworker_django.core.lanes import PRIORITY
from cogworker_django.core.options import JobOptions
from cogworker_django.core.payload import DJANGO_TASK
from cogworker_django.core.signature import signature_of
from cogworker_django.definition import Job
from cogworker_django.tasks.performing import TaskJob
from cogworker_django.tasks.task import AnyTask, options_of

# Comes first, whatever the parameters of the task's function are called.
_JOB = inspect.Parameter("_cogworker_job", inspect.Parameter.POSITIONAL_ONLY)


def job_of(task: AnyTask) -> type[TaskJob]:
    """Find the job of a task, or define it: a task that is known to the backend is known to the worker.

    Args:
        task: the task; of the several that `using` makes of one, the first defines the job.

    Raises:
        InvalidTask: another job has its name, or an option of its definition is wrong.
    """
    known: type[Job] | None = definition.REGISTRY.get(task.module_path)
    if known is None:
        return _defined(task)
    if issubclass(known, TaskJob):
        if known.task.func is not task.func:
            # The module was loaded again, as in an interactive session: the latest function runs.
            return _defined(task)
        return known
    raise InvalidTask(f"{task.module_path} is a job already: one function is either a job or a task")


def _defined(task: AnyTask) -> type[TaskJob]:
    body = {
        "task": task,
        "sender": type(task.get_backend()),
        "perform": _perform_of(task),
        "__module__": task.func.__module__,
        "__qualname__": task.func.__qualname__,
        "__doc__": task.func.__doc__,
    }
    names: dict[str, Any] = {"name": task.module_path, "aliases": getattr(task, "aliases", ())}
    try:
        options = JobOptions().merged(queue=task.queue_name, **options_of(task, task.get_backend().options))
        job_class: Any = types.new_class(task.name, (TaskJob,), names, lambda namespace: namespace.update(body))
    except (TypeError, ValueError) as error:
        raise InvalidTask(str(error)) from error
    # However a job is pushed, by its name or by a periodic entry, it is a task.
    job_class.cogworker_options = replace(options, extra={DJANGO_TASK: rider(task)})
    check_call = job_class.cogworker_blueprint.check_call
    job_class.cogworker_blueprint = Blueprint.of(task.module_path, job_class.cogworker_options, check_call)
    return job_class  # type: ignore[no-any-return]


def rider(task: AnyTask) -> dict[str, Any]:
    """Make what the payload of a task carries beyond that of other jobs."""
    return {BACKEND: task.backend, **({PRIORITY: int(task.priority)} if task.priority else {})}


def _perform_of(task: AnyTask) -> Callable[..., Any]:
    """A ``perform`` with the signature of the task's function, so that a call which does not fit is refused at once."""

    def perform(job: TaskJob, *args: Any, **kwargs: Any) -> Any:
        return job.run(args, kwargs)

    async def perform_async(job: TaskJob, *args: Any, **kwargs: Any) -> Any:
        return await job.arun(args, kwargs)

    chosen: Any = perform_async if inspect.iscoroutinefunction(task.func) else perform
    signature = signature_of(task.func)
    if signature is not None:
        parameters = list(signature.parameters.values())[1 if task.takes_context else 0 :]
        chosen.__signature__ = inspect.Signature([_JOB, *parameters])
    return chosen  # type: ignore[no-any-return]
