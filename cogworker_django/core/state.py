"""Where a job stands, as its status tells people (Reference 18)."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    WORKING = "working"
    RETRYING = "retrying"
    """It has failed and will run again."""
    COMPLETE = "complete"
    FAILED = "failed"
    """It has failed for good, or was dropped by its hook."""
    EXPIRED = "expired"
    """It was dropped: it was too late to start."""
    CANCELLED = "cancelled"
    """It was dropped: somebody has cancelled it."""


STATUS_FIELDS = frozenset(
    {
        "status",
        "update_time",
        "class",
        "queue",
        "pct",
        "message",
        "result",
        "result_omitted",
        "error_class",
        "error_message",
        "django_task",
    }
)
"""What a status says by itself, which `Job.store` must not overwrite."""
