"""The backend that `TASKS` names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage
from django.tasks import TaskResultStatus
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
from django.tasks.signals import task_enqueued

from cogworker_django import conf, definition, runtime
from cogworker_django.core.dispatch import Push
from cogworker_django.core.names import check_queue
from cogworker_django.core.options import JobOptions
from cogworker_django.core.payload import DJANGO_TASK, UNIQUE_DIGEST
from cogworker_django.tasks.checking import faults
from cogworker_django.tasks.definition import job_of, rider
from cogworker_django.tasks.errors import TaskRefused
from cogworker_django.tasks.known import known
from cogworker_django.tasks.lookup import lookup
from cogworker_django.tasks.performing import TaskJob, seen_results
from cogworker_django.tasks.plain import plain
from cogworker_django.tasks.result import CogworkerTaskResult, result_of
from cogworker_django.tasks.task import AnyTask, CogworkerTask, options_of

if TYPE_CHECKING:
    from django.tasks import TaskResult

PUSHES = 3
"""How often a unique task is pushed whose like has always just ended when it is looked for."""


class CogworkerBackend(BaseTaskBackend):
    """Tasks as jobs (Contract 9).

    Args:
        alias: its name in ``TASKS``.
        params: its entry there: ``QUEUES``, and in ``OPTIONS`` ``retry``, ``on_commit``, ``timeout`` and
            ``expires_in`` of tasks that do not say.
    """

    is_cogworker = True
    """Tells those who must not import this module, as on a Django without tasks, that its tasks are jobs."""
    task_class = CogworkerTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def validate_task(self, task: AnyTask) -> None:
        """Check a task, and make it known to the worker; called when it is defined and before it is enqueued.

        Raises:
            InvalidTask: the framework's rules, the name of the queue, or an option.
        """
        super().validate_task(task)
        try:
            check_queue(task.queue_name)
            JobOptions().merged(**options_of(task, self.options))
        except (TypeError, ValueError) as error:
            raise InvalidTask(str(error)) from error
        job_of(task)

    def enqueue(  # type: ignore[override]
        self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> CogworkerTaskResult:
        """Enqueue a task.

        Args:
            task: the task.
            args: for its function.
            kwargs: for its function.

        Returns:
            Its result; of a unique task one like which waits or runs, the result of that one.

        Raises:
            InvalidTask: the task cannot run on this backend.
            TaskRefused: client middleware did not let it pass.
            TypeError: its function does not take these arguments, or JSON does not know the type of one.
            ValueError: JSON cannot carry an argument, or they are too large together.
            RedisUnavailable: Redis is away.
            RedisRefused: Redis refused the write.
        """
        result, new = self._enqueued(task, args, kwargs)
        if new:
            self._after_commit(task, lambda: self._tell(result))
        return result

    async def aenqueue(  # type: ignore[override]
        self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> CogworkerTaskResult:
        """Do `enqueue` without blocking the event loop; no transaction can be open in asynchronous code."""
        result, new = await asyncio.to_thread(self._enqueued, task, args, kwargs)
        if new:
            await task_enqueued.asend_robust(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> CogworkerTaskResult:
        """Find out how a task stands.

        Args:
            result_id: its id.

        Raises:
            TaskResultDoesNotExist: this backend has no such task, or knows nothing of it any more.
            RedisUnavailable: Redis is away.
        """
        found = lookup(str(result_id))
        job_class = definition.REGISTRY.get(found.name) if found is not None else None
        if found is None or job_class is None or not issubclass(job_class, TaskJob):
            raise TaskResultDoesNotExist(result_id)
        if found.backend not in (None, self.alias):
            raise TaskResultDoesNotExist(result_id)
        return result_of(found, job_class.task)

    async def aget_result(self, result_id: str) -> CogworkerTaskResult:
        """Do `get_result` without blocking the event loop."""
        return await asyncio.to_thread(self.get_result, result_id)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Tell ``manage.py check`` what is wrong with the entry in ``TASKS``."""
        return list(faults(self))

    def _enqueued(
        self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[CogworkerTaskResult, bool]:
        """The result of the task, or of one like it; and whether it is a new one."""
        self.validate_task(task)
        push = self._prepared(task, args, kwargs)
        if push is None:
            raise TaskRefused(f"{task.module_path} was refused by client middleware")
        for _ in range(PUSHES):
            with seen_results() as seen:
                jid = runtime.current().client.dispatch(push)
            if jid is not None:
                result = seen.get(jid) or result_of(known(push.payload, TaskResultStatus.READY), task)
                return result, True
            for holder in _holders(push):
                found = lookup(holder)
                if found is not None:
                    return result_of(found, task), False
        raise TaskRefused(f"{task.module_path} is unique, and one like it is ending just now: try again")

    def _prepared(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Push | None:
        item = {"class": job_of(task), "args": plain(args), "kwargs": plain(kwargs), "queue": task.queue_name}
        item |= options_of(task, self.options)
        if task.run_after is not None:
            item["at"] = task.run_after
        return runtime.current().client.prepare(item, {DJANGO_TASK: {**rider(task), "backend": self.alias}})

    def _after_commit(self, task: AnyTask, step: Any) -> None:
        """Do something once the task is in Redis: after the commit that it waits for, or now."""
        wish = options_of(task, self.options).get("on_commit")
        using = wish if isinstance(wish, str) else None
        if not (wish and conf.after_commit(using, step, True)):
            step()

    def _tell(self, result: TaskResult[..., Any]) -> None:
        # Robust: the task is enqueued, and an error now would have the caller believe that it is not.
        task_enqueued.send_robust(type(self), task_result=result)


def _holders(push: Push) -> Iterator[str]:
    """The ids of the jobs that may hold the lock of a unique one."""
    digest = push.digest or ""
    try:
        kept = runtime.bench().jobs(push.payload["class"])
    except RuntimeError:
        holder = runtime.current().store.lock_holder(digest)
        kept = [] if holder is None else [{"jid": holder, UNIQUE_DIGEST: digest}]
    yield from (payload["jid"] for payload in kept if payload.get(UNIQUE_DIGEST) == digest)
