"""Which job runs here and now."""

from __future__ import annotations

from contextvars import ContextVar, Token

from cogworker_django.definition import Job

_RUNNING: ContextVar[Job | None] = ContextVar("cogworker_running_job", default=None)


def current_job() -> Job | None:
    """Get the job that runs in this thread or task; None outside a job."""
    return _RUNNING.get()


class running:
    """Make a job the current one inside a ``with`` block; for the worker.

    Args:
        job: the job about to run.
    """

    __slots__ = ("_job", "_token")

    def __init__(self, job: Job) -> None:
        self._job = job

    def __enter__(self) -> None:
        self._token: Token[Job | None] = _RUNNING.set(self._job)

    def __exit__(self, *raised: object) -> None:
        _RUNNING.reset(self._token)
