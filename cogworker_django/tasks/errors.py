"""What goes wrong with tasks beyond what the framework has names for."""

from __future__ import annotations

from django.tasks.exceptions import TaskException


class TaskRefused(TaskException):
    """The task was not enqueued: client middleware refused it, or a unique one like it ends at this very moment."""


class UnstorableResult(TypeError):
    """The task has run, but what it returned is not JSON. It fails at once, since running it again would not help."""
