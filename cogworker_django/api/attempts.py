"""The failed attempts of one job."""

from __future__ import annotations

from cogworker_django.api.door import opened
from cogworker_django.store.attempts import Attempt
from cogworker_django.store.store import Store

__all__ = ["Attempt", "attempts_of"]


def attempts_of(jid: str, store: Store | None = None) -> list[Attempt]:
    """Read a job's failed attempts, oldest first; none once it has succeeded.

    Args:
        jid: the job's id.
        store: where to look; by default the current runtime's.
    """
    return opened(store).attempts.of(jid)
