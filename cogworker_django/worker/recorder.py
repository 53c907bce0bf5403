"""What people are told about the end of a run: the job's new status, and the entry of the history."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cogworker_django.core import codec, django_task
from cogworker_django.core.arguments import checked
from cogworker_django.core.outcome import Fate
from cogworker_django.core.state import State
from cogworker_django.core.text import backtrace, error_class, error_message
from cogworker_django.store.record import Record
from cogworker_django.store.status import Statuses
from cogworker_django.worker.delivery import Delivery

logger = logging.getLogger("cogworker")

FAULT = "a run could not be recorded"
"""For the log: whatever goes wrong here changes nothing about the job."""
LARGEST_RESULT = 65_536
"""Bytes of JSON above which what a job returned is not kept."""
LARGEST_ARGUMENTS = 16_384
"""Bytes of a job above which its arguments are not in the history: it keeps tens of thousands of runs."""
MESSAGE_LIMIT = 10_000
"""Characters kept of an error's message (reference, section 19)."""


class Told(msgspec.Struct, gc=False):
    """What a raw job says about itself, its arguments left as they are."""

    name: str = msgspec.field(name="class")
    jid: str
    queue: str
    args: msgspec.Raw
    kwargs: msgspec.Raw = msgspec.Raw(b"{}")


class Entry(msgspec.Struct, omit_defaults=True, gc=False):
    """A run in the history."""

    jid: str
    name: str = msgspec.field(name="class")
    queue: str
    status: str
    started_at: float
    finished_at: float
    host: str
    args: msgspec.Raw | None = None
    kwargs: msgspec.Raw | None = None
    args_omitted: bool = False
    error_class: str | None = None
    error_message: str | None = None
    backtrace: list[str] | None = None


@dataclass(slots=True)
class Run:
    """What a processor knows of a run that has ended."""

    began: float
    """Epoch seconds."""
    seconds: float
    """How long it took."""
    reported: Mapping[str, Any] = field(default_factory=dict)
    """What the job has told about itself with `at` and `store`."""


_TOLD = msgspec.json.Decoder(Told)
_ENTRY = msgspec.json.Encoder()


class Recorder:
    """Builds records; writes nothing.

    Args:
        statuses: builds the status, if they are kept.
        history: whether a history is kept.
        host: the identity of this process.
    """

    def __init__(self, statuses: Statuses, *, history: bool, host: str) -> None:
        self._statuses = statuses
        self._history = history
        self._host = host
        self.on = history or statuses.ttl > 0
        """Whether anything is recorded at all."""

    def success(self, delivery: Delivery, run: Run, result: object) -> Record | None:
        """The record of a success.

        Args:
            delivery: the job as fetched.
            run: its run.
            result: what it returned.
        """
        if not self.on:
            return None
        try:
            return self._success(delivery, run, result)
        except Exception:
            logger.exception(FAULT)
            return None

    def dropped(self, delivery: Delivery, run: Run, state: State) -> Record | None:
        """The record of a job that was dropped.

        Args:
            delivery: the job as fetched.
            run: its run, of no length when it has not run.
            state: why: `EXPIRED` or `CANCELLED`; the status, and how the history calls it.
        """
        if not self.on:
            return None
        try:
            told, end = _TOLD.decode(delivery.raw), run.began + run.seconds
            entry = self._entry(told, len(delivery.raw), str(state), run, end) if self._history else None
            status = self._status(state, told, run, self._task_told(delivery, run, {**run.reported}))
            return Record(told.jid, status, _ENTRY.encode(entry).decode() if entry else None)
        except Exception:
            logger.exception(FAULT)
            return None

    def failure(self, delivery: Delivery, run: Run, fate: Fate, error: BaseException) -> Record | None:
        """The record of a failure.

        Args:
            delivery: the job as fetched.
            run: its run.
            fate: what becomes of the job.
            error: what it raised.
        """
        if not self.on:
            return None
        try:
            return self._failure(delivery, run, fate, error)
        except Exception:
            logger.exception(FAULT)
            return None

    def _success(self, delivery: Delivery, run: Run, result: object) -> Record:
        told, end = _TOLD.decode(delivery.raw), run.began + run.seconds
        fields = {**run.reported, **_returned(result)} if result is not None or run.reported else None
        entry = (
            _ENTRY.encode(self._entry(told, len(delivery.raw), "success", run, end)).decode() if self._history else None
        )
        return Record(told.jid, self._status(State.COMPLETE, told, run, self._task_told(delivery, run, fields)), entry)

    def _failure(self, delivery: Delivery, run: Run, fate: Fate, error: BaseException) -> Record:
        told, end = _TOLD.decode(delivery.raw), run.began + run.seconds
        state = State.RETRYING if fate is Fate.RETRY else State.FAILED
        name, message = error_class(error), error_message(error)[:MESSAGE_LIMIT]
        fields = {**run.reported, "error_class": name, "error_message": message}
        entry = None
        if self._history:
            ended = self._entry(told, len(delivery.raw), "failed", run, end)
            ended.error_class, ended.error_message, ended.backtrace = name, message, backtrace(error)
            entry = _ENTRY.encode(ended).decode()
        return Record(told.jid, self._status(state, told, run, self._task_told(delivery, run, fields)), entry)

    def _status(self, state: State, told: Told, run: Run, fields: Mapping[str, Any] | None) -> str | None:
        if not self._statuses.ttl:
            return None
        return self._statuses.value(state, told.name, told.queue, run.began + run.seconds, fields)

    def _task_told(self, delivery: Delivery, run: Run, fields: dict[str, Any] | None) -> dict[str, Any] | None:
        """The fields of the status, with what the result of a task shows."""
        if django_task.MARK not in delivery.raw:
            return fields
        times = {"started_at": run.began, "finished_at": run.began + run.seconds}
        return {**(fields or {}), **django_task.told(codec.decode(delivery.raw), **times, host=self._host)}

    def _entry(self, told: Told, size: int, status: str, run: Run, end: float) -> Entry:
        entry = Entry(told.jid, told.name, told.queue, status, run.began, end, self._host)
        if size > LARGEST_ARGUMENTS:
            entry.args_omitted = True
        else:
            entry.args, entry.kwargs = told.args, told.kwargs
        return entry


def _returned(result: object) -> dict[str, Any]:
    """What a job returned, as a field of its status; or why it is not kept, which is no fault of the job."""
    if result is None:
        return {}
    try:
        value = checked(result, "result")
        size = len(codec.encode(value))
    except Exception as error:  # noqa: BLE001 - whatever the value does when it is looked at
        return {"result_omitted": error_message(error)[:200]}
    if size > LARGEST_RESULT:
        return {"result_omitted": f"result: {size:,} bytes of JSON, over the limit of {LARGEST_RESULT:,}"}
    return {"result": value}
