"""Cancelling a job, wherever it is."""

from __future__ import annotations

import time

from cogworker_django.api.door import opened
from cogworker_django.api.whereabouts import Place, Whereabouts, find_job
from cogworker_django.core import django_task
from cogworker_django.core.state import State
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.store import Store

TRIES = 3
"""Searches for a job that moves on just when it is about to be removed."""
SETS = {Place.SCHEDULED: SetName.SCHEDULE, Place.RETRY: SetName.RETRY}


def cancel(jid: str, store: Store | None = None) -> bool:
    """Cancel a job.

    One that waits is removed. One that a process has in hand is cancelled there within some seconds: if it has not
    started it never will; a coroutine is cancelled; any other sees it in `current_job().cancelled`, and may end by
    itself or raise `JobCancelled`. A cancelled job is not retried.

    Args:
        jid: the job's id.
        store: where to look; by default the current runtime's.

    Returns:
        Whether it was removed, or its process told; False when it is over, dead or nowhere.

    Raises:
        RedisUnavailable: Redis is away.
    """
    opened_store = opened(store)
    for _ in range(TRIES):
        found = find_job(jid, opened_store)
        if found is None or found.place == Place.DEAD:
            return False
        if _cancelled(found, jid, opened_store):
            return True
    return False


def _cancelled(found: Whereabouts, jid: str, store: Store) -> bool:
    if found.place == Place.IN_PROGRESS:
        if found.host is not None:
            store.process_reader.cancel(found.host, jid)
        return found.host is not None
    if not _removed(found, jid, store):
        return False
    payload = found.payload
    told = django_task.told(payload, finished_at=time.time())
    store.statuses.write(jid, State.CANCELLED, payload["class"], payload["queue"], told)
    return True


def _removed(found: Whereabouts, jid: str, store: Store) -> bool:
    if found.place == Place.QUEUED:
        return store.queue_reader.delete(found.payload["queue"], jid)
    name = SETS[found.place]
    entry = store.jobsets.find(name, jid)
    return entry is not None and store.jobsets.remove(name, [entry.member]) == 1
