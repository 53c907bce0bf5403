"""What becomes of a job that has run: the outcome, the pure decision, and the settlement that writes it."""

from __future__ import annotations

import logging
import random
import time
from functools import partial

from cogworker_django.core import codec, times
from cogworker_django.core.errors import JobCancelled, UnreadablePayload
from cogworker_django.core.hooks import call_with_fitting
from cogworker_django.core.outcome import Fate, Verdict
from cogworker_django.core.payload import (
    EXPIRES_AT,
    INTERRUPT_DELAY,
    MAX_INTERRUPTS,
    PERIODIC_NAME,
    PERIODIC_SLOT,
    UNIQUE_DIGEST,
    Payload,
    check_shape,
    failed,
    failures,
    interrupted,
    read,
    unreadable,
)
from cogworker_django.core.registry import Registry
from cogworker_django.core.retry import JITTER, NO_HOOK, decide, exhausted
from cogworker_django.core.state import State
from cogworker_django.core.text import backtrace, error_class, error_message, job_label, one_line
from cogworker_django.core.unique import digest_in
from cogworker_django.definition import Job
from cogworker_django.store.attempts import Attempt
from cogworker_django.store.record import Record
from cogworker_django.store.settlement import Settlement
from cogworker_django.store.settlements import Settlements, Subject
from cogworker_django.worker.cancellations import Cancellations
from cogworker_django.worker.deaths import DeathHooks
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.recorder import Recorder, Run

logger = logging.getLogger("cogworker")

UNIQUE_MARK, PERIODIC_MARK = f'"{UNIQUE_DIGEST}"'.encode(), f'"{PERIODIC_NAME}"'.encode()
"""Are in the bytes of a unique job and of one of a periodic entry, so that those of others need not be read for it."""


class Judge:
    """Decides about finished jobs and builds their settlements. Writes nothing.

    Args:
        settlements: builds the commands.
        registry: where a job's retry hook is looked up.
        deaths: the death hooks.
        recorder: builds what people are told about a run.
        host: the identity of this process, for the attempts log.
        cancellations: the jobs that somebody has cancelled.
    """

    def __init__(
        self,
        settlements: Settlements,
        registry: Registry[type[Job]],
        deaths: DeathHooks,
        recorder: Recorder,
        host: str,
        cancellations: Cancellations,
    ) -> None:
        self._cancellations = cancellations
        self._settlements = settlements
        self._registry = registry
        self._deaths = deaths
        self._recorder = recorder
        self._host = host

    def success(self, delivery: Delivery, payload: Payload, result: object, run: Run) -> Settlement | None:
        """The settlement of a success; None when nothing is to be written but that it is done."""
        record = self._recorder.success(delivery, run, result)
        plain = not delivery.orphaned and "retry_count" not in payload and not _is_marked(delivery.raw)
        if plain:
            return None if record is None else self._settlements.recorded(delivery.token, record)
        return self._settlements.success(_subject(delivery, read(delivery.raw)["jid"], record))

    def dropped(self, delivery: Delivery, payload: Payload) -> Settlement | None:
        """The settlement of a job that shall not run: it was cancelled, or it is too late; None when it shall."""
        if self._cancellations.take(payload["jid"]):
            return self._drop(delivery, payload, State.CANCELLED, "was cancelled before it ran")
        expires_at = times.told(payload.get(EXPIRES_AT))
        if expires_at is not None and self._settlements.has_passed(expires_at):
            return self._drop(delivery, payload, State.EXPIRED, "is too late to start")
        return None

    def _drop(
        self, delivery: Delivery, payload: Payload, state: State, outlook: str, run: Run | None = None
    ) -> Settlement:
        record = self._recorder.dropped(delivery, run or Run(time.time(), 0.0), state)
        return self._settlements.dropped(_subject(delivery, payload["jid"], record), state, outlook)

    def failure(self, delivery: Delivery, payload: Payload, error: BaseException, run: Run) -> Settlement:
        """The settlement of a failure (reference, 12.2 and 12.3).

        Args:
            delivery: the job as fetched.
            payload: as the run has left it.
            error: what it raised.
            run: how long it ran, and what the job has told.
        """
        payload = _still_a_job(delivery, payload)
        if isinstance(error, JobCancelled):
            return self._drop(delivery, payload, State.CANCELLED, "was cancelled", run)
        verdict = self._verdict(delivery, payload, error)
        now = time.time()
        try:
            entry = codec.encode(self._entry(delivery, payload, error, now))
        except Exception as trouble:  # noqa: BLE001 - whatever middleware put into the payload
            logger.error("the failure of %s does not encode: %s", label_of(delivery), one_line(str(trouble), 200))
            return self.interrupt(delivery, error, run, killed=verdict.fate is not Fate.RETRY)
        attempt = self._attempt(failures(payload) + 1, error, verdict.fate, now, run.seconds)
        return self._settlement(delivery, payload, entry, verdict, attempt, error, run)

    def interrupt(self, delivery: Delivery, error: BaseException, run: Run, *, killed: bool = False) -> Settlement:
        """The settlement of a job that ran and whose failure cannot be recorded as it should: built from its raw
        bytes, so that it waits or is dead but never runs again at once (reference, section 11, "interrupt").

        Args:
            delivery: the job as fetched.
            error: what the job raised, or what went wrong with recording it.
            run: its run.
            killed: whether the decision was already that it shall not run again.
        """
        now, raw_payload = time.time(), read(delivery.raw)
        entry = interrupted(raw_payload, error, now)
        encoded, times = codec.encode(entry), failures(entry, "interrupted_count")
        over = killed or exhausted(failures(raw_payload), raw_payload.get("retry")) or times > MAX_INTERRUPTS
        verdict = Verdict(fate=Fate.DEAD) if over else Verdict(fate=Fate.RETRY, delay=INTERRUPT_DELAY * times)
        attempt = self._attempt(failures(entry), error, verdict.fate, now, None)
        return self._settlement(delivery, raw_payload, encoded, verdict, attempt, error, run)

    def unreadable(self, delivery: Delivery, error: UnreadablePayload) -> Settlement:
        """The settlement of bytes that are no job: dead at once, without hooks (reference, section 11)."""
        wrapper = unreadable(delivery.raw, delivery.queue, error, time.time())
        logger.error("buried an unreadable job of queue %s: %s", delivery.queue, one_line(str(error), 200))
        subject = Subject(token=delivery.token, jid=wrapper["jid"])
        return self._settlements.dead(subject, codec.encode(wrapper), None, None)

    def _verdict(self, delivery: Delivery, payload: Payload, error: BaseException) -> Verdict:
        count, retry = failures(payload), payload.get("retry")
        answer = NO_HOOK if exhausted(count, retry) else self._ask_hook(delivery, payload, count, error)
        verdict = decide(count=count, retry=retry, answer=answer, jitter=random.randrange(JITTER))
        if verdict.warning:
            logger.warning("retry hook of %s: %s", job_label(payload["class"], payload["jid"]), verdict.warning)
        return verdict

    def _ask_hook(self, delivery: Delivery, payload: Payload, count: int, error: BaseException) -> object:
        job_class = self._registry.get(payload["class"])
        if job_class is None or not job_class.has_retry_in:
            return NO_HOOK
        try:
            copy = _for_hook(delivery, payload)
            job = job_class.start(copy)
            job.worker_id = self._host
            return call_with_fitting(job.retry_in, count, error, copy)
        except BaseException as trouble:  # noqa: BLE001 - a hook that raises, even an exit, means the default delay
            reason = f"{error_class(trouble)}: {one_line(error_message(trouble), 200)}"
            logger.error("retry hook of %s failed: %s", job_label(payload["class"], payload["jid"]), reason)
            return NO_HOOK

    def _entry(self, delivery: Delivery, payload: Payload, error: BaseException, now: float) -> Payload:
        """The job as middleware left it, but with its arguments as pushed, whatever the run did to its copies."""
        return failed(payload | _arguments(delivery), error_class(error), error_message(error), now)

    def _attempt(self, number: int, error: BaseException, fate: Fate, now: float, seconds: float | None) -> Attempt:
        return Attempt(
            attempt=number,
            failed_at=now,
            outcome=fate,
            error_class=error_class(error),
            error_message=error_message(error),
            backtrace=backtrace(error),
            host=self._host,
            duration=seconds,
        )

    def _settlement(
        self,
        delivery: Delivery,
        payload: Payload,
        entry: bytes,
        verdict: Verdict,
        attempt: Attempt,
        error: BaseException,
        run: Run,
    ) -> Settlement:
        subject = _subject(delivery, payload["jid"], self._recorder.failure(delivery, run, verdict.fate, error))
        if verdict.fate is Fate.RETRY:
            return self._settlements.retry(subject, entry, verdict.delay or 0.0, attempt)
        if verdict.fate is Fate.DISCARDED:
            return self._settlements.discarded(subject, attempt)
        hooks = partial(self._deaths.run, entry, error) if self._deaths.wanted(payload["class"]) else None
        return self._settlements.dead(subject, entry, attempt, hooks)


def label_of(delivery: Delivery) -> str:
    """A delivered job's name and id as they were fetched, for a log line."""
    payload = read(delivery.raw)
    return job_label(payload["class"], payload["jid"])


def _is_marked(raw: bytes) -> bool:
    return UNIQUE_MARK in raw or PERIODIC_MARK in raw


def _subject(delivery: Delivery, jid: str, record: Record | None) -> Subject:
    """What the store must know of a job; its lock as it was pushed, whatever the run did to it."""
    lock = entry = None
    if _is_marked(delivery.raw):
        payload = read(delivery.raw)
        digest, name, slot = digest_in(payload), payload.get(PERIODIC_NAME), payload.get(PERIODIC_SLOT)
        lock = (digest, payload["jid"]) if digest else None
        entry = (name, slot if type(slot) is int else None) if type(name) is str else None
    return Subject(token=delivery.token, jid=jid, orphaned=delivery.orphaned, lock=lock, record=record, entry=entry)


def _still_a_job(delivery: Delivery, payload: Payload) -> Payload:
    """The payload as the run has left it, or as it was fetched where that could not run again."""
    try:
        return check_shape(payload)
    except UnreadablePayload as error:
        logger.warning("what the run of %s has left of its payload is dropped: %s", label_of(delivery), error)
        return read(delivery.raw)


def _arguments(delivery: Delivery) -> Payload:
    """The job's arguments as they were pushed."""
    original = read(delivery.raw)
    return {name: original[name] for name in ("args", "kwargs") if name in original}


def _for_hook(delivery: Delivery, payload: Payload) -> Payload:
    """A copy of the job for its hook: as it would be stored, or, where that is not possible, as it was fetched."""
    try:
        return codec.decode(codec.encode(payload | _arguments(delivery)))
    except Exception:  # noqa: BLE001 - whatever middleware put into the payload
        return read(delivery.raw)
