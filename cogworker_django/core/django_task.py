"""What a job that is a `django.tasks` task carries beyond any other, and what its status tells in return.

The result of a task must be readable by its id alone, at once and often. So the status of a task holds what the
framework's result shows; the statuses of other jobs stay as small as they are.
"""

from __future__ import annotations

from typing import Any

from cogworker_django.core.payload import DJANGO_TASK, Payload

MARK = f'"{DJANGO_TASK}"'.encode()
"""Is in the bytes of every task, so that those of other jobs need not be read for it."""

BACKEND = "backend"
"""What the payload says under `DJANGO_TASK`: the alias in `TASKS`; and a priority (`core.lanes`)."""

_TOLD = ("args", "kwargs", "created_at", "at", "retry_count")


def is_task(payload: Payload) -> bool:
    """Whether a job is a task."""
    return isinstance(payload.get(DJANGO_TASK), dict)


def told(payload: Payload, **end: Any) -> dict[str, Any]:
    """Make what the status of a task says about it.

    Args:
        payload: the job.
        end: of a run: ``started_at`` and ``finished_at``, epoch seconds, and ``host``, the identity of its process.

    Returns:
        A field for the status; none for a job that is no task.
    """
    if not is_task(payload):
        return {}
    fields = {name: payload[name] for name in _TOLD if name in payload}
    return {DJANGO_TASK: {**payload[DJANGO_TASK], **fields, **end}}
