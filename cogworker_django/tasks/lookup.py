"""Finding out how a task stands.

Its status tells at once, and almost always. Only when that has lapsed, or says that the task runs, other places are
looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.tasks import TaskResultStatus

from cogworker_django import runtime
from cogworker_django.api.whereabouts import Place, Whereabouts, find_job
from cogworker_django.core import times
from cogworker_django.core.django_task import is_task
from cogworker_django.core.payload import DJANGO_TASK, failures
from cogworker_django.core.state import State
from cogworker_django.store.history import ALL
from cogworker_django.store.store import Store
from cogworker_django.tasks.known import EXPIRED, Known, TaskRun, known, of_attempts, of_death, of_history

_ENDS: dict[str, TaskResultStatus] = {
    State.COMPLETE: TaskResultStatus.SUCCESSFUL,
    State.FAILED: TaskResultStatus.FAILED,
    State.EXPIRED: TaskResultStatus.FAILED,
    State.CANCELLED: TaskResultStatus.FAILED,
}


def lookup(jid: str) -> Known | None:
    """Find out how a task stands.

    Args:
        jid: its id.

    Returns:
        What is known; None when there is no such task, or nothing is known of it any more.

    Raises:
        RedisUnavailable: Redis is away.
    """
    kept = _kept(jid)
    if kept is not None:
        return known(kept, TaskResultStatus.READY)
    store = runtime.current().store
    status = store.statuses.get(jid) or {}
    if _tells_all(status):
        return _of_status(store, jid, status)
    found = find_job(jid, store)
    if found is not None:
        return _of_whereabouts(store, found, status) if is_task(found.payload) else None
    # It may have ended while it was searched for.
    status = store.statuses.get(jid) or {}
    return _of_status(store, jid, status) if _tells_all(status) else _of_history(store, jid)


def _tells_all(status: Mapping[str, Any]) -> bool:
    """Whether a status is that of a task which does not run: one that runs is better asked where it does."""
    return isinstance(status.get(DJANGO_TASK), dict) and status.get("status") != State.WORKING


def _kept(jid: str) -> dict[str, Any] | None:
    """The payload of a task that a test keeps in fake mode."""
    try:
        jobs = runtime.bench().jobs(None)
    except RuntimeError:
        return None
    return next((payload for payload in jobs if payload["jid"] == jid and is_task(payload)), None)


def _of_status(store: Store, jid: str, status: Mapping[str, Any]) -> Known:
    told: dict[str, Any] = status[DJANGO_TASK]
    payload = {"jid": jid, "class": status["class"], "queue": status["queue"], DJANGO_TASK: told, **told}
    state = str(status.get("status"))
    end = _ENDS.get(state)
    if end is None:
        runs = of_attempts(store.attempts.of(jid)) if state == State.RETRYING else []
        return known(payload, TaskResultStatus.READY, runs=runs)
    finished_at = times.told(told.get("finished_at"))
    if end is TaskResultStatus.FAILED:
        runs = of_death(status, of_attempts(store.attempts.of(jid)))
        return known(payload, end, runs=runs, finished_at=finished_at)
    return known(
        payload,
        end,
        runs=_successful_runs(store, jid, told),
        finished_at=finished_at,
        value=status.get("result"),
        no_value=status.get("result_omitted"),
    )


def _successful_runs(store: Store, jid: str, told: dict[str, Any]) -> list[TaskRun]:
    """The last run; and those before, which only the history still knows, of a task that had failed before."""
    last = TaskRun(began=times.told(told.get("started_at")), host=str(told.get("host", "")))
    if not failures(told) or not store.history.max_entries:
        return [last]
    return [run for run in of_history(store.history.search(ALL, jid)) if run.error_path is not None] + [last]


def _of_whereabouts(store: Store, found: Whereabouts, status: Mapping[str, Any]) -> Known:
    payload = found.payload
    runs = of_attempts(store.attempts.of(payload["jid"])) if failures(payload) else []
    if found.place is Place.DEAD:
        finished_at = times.told(payload.get("failed_at"))
        return known(payload, TaskResultStatus.FAILED, runs=of_death(payload, runs), finished_at=finished_at)
    if found.place is not Place.IN_PROGRESS:
        return known(payload, TaskResultStatus.READY, runs=runs)
    if found.run_at is None and status.get("status") != State.WORKING:
        # Fetched, and as far as anybody has told not started yet.
        return known(payload, TaskResultStatus.READY, runs=runs)
    began = found.run_at or times.told(status.get("update_time"))
    runs.append(TaskRun(began=began, host=found.host or ""))
    return known(payload, TaskResultStatus.RUNNING, runs=runs)


def _of_history(store: Store, jid: str) -> Known | None:
    """What the history still knows of a task that has ended."""
    entries = store.history.search(ALL, jid) if store.history.max_entries else []
    if not entries:
        return None
    last = entries[0]
    end = TaskResultStatus.SUCCESSFUL if last.get("status") == "success" else TaskResultStatus.FAILED
    finished_at = times.told(last.get("finished_at"))
    return known({**last, "jid": jid}, end, runs=of_history(entries), finished_at=finished_at, no_value=EXPIRED)
