"""When a job that is pushed is due."""

from __future__ import annotations

from typing import NamedTuple

from cogworker_django.core import times
from cogworker_django.core.payload import Payload


class Due(NamedTuple):
    """A due time as the caller gave it."""

    delay: float | None
    """Seconds from now; None unless the caller gave a delay."""
    at: float
    """Epoch seconds."""


def due_after(payload: Payload, due: Due | None) -> Due | None:
    """When the job is due after middleware had it: what it left in ``at``, if that is not what it found."""
    at = payload.get("at")
    if at is None:
        payload.pop("at", None)
        return None
    return due if due is not None and at == due.at else Due(None, times.due(at, times.refuse_naive))
