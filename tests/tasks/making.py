"""Tasks with options of ours, on every version of Django that has tasks: only from 6.1 on does `@task` take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.tasks import TaskResultStatus

from cogworker_django.tasks import CogworkerTask
from tests.worker.rigs import until

READY, RUNNING = TaskResultStatus.READY, TaskResultStatus.RUNNING
FAILED, SUCCESSFUL = TaskResultStatus.FAILED, TaskResultStatus.SUCCESSFUL

# What 6.0 has no defaults for.
_PLAIN: dict[str, Any] = {"priority": 0, "backend": "default", "queue_name": "default", "run_after": None}


def made(function: Callable[..., Any], **options: Any) -> CogworkerTask:
    """Make a task of a function."""
    return CogworkerTask(func=function, **(_PLAIN | options))


def reaches(result: Any, condition: Callable[[Any], bool]) -> Any:
    """Wait until a result, read anew each time, is as wanted."""

    def is_so() -> bool:
        result.refresh()
        return condition(result)

    until(is_so)
    return result


def finished(result: Any) -> Any:
    """Wait for the end of a task."""
    return reaches(result, lambda latest: bool(latest.is_finished))
