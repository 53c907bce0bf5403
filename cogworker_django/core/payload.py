"""The payload: a job as one flat JSON object (Reference 3), and the shapes it takes on its way."""

from __future__ import annotations

from typing import Any

from cogworker_django.core import codec, text
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.identity import new_jid

Payload = dict[str, Any]

# Fields that carry a job's own story: no option and no further keyword may have such a name (Contract 2).
RESERVED = frozenset(
    {
        "class",
        "args",
        "kwargs",
        "jid",
        "at",
        "created_at",
        "enqueued_at",
        "retry_count",
        "error_class",
        "error_message",
        "failed_at",
        "first_failed_at",
        "interrupted_count",
        "raw_payload",
        "unique_digest",
        "expires_at",
        "django_task",
    }
)
# Every field of the periodic runner begins so and is as reserved.
RESERVED_PREFIX = "periodic_"
# The periodic entry that a job is a run of, and the time that it was due, epoch seconds.
PERIODIC_NAME, PERIODIC_SLOT = "periodic_name", "periodic_slot"

# When it is too late to start, epoch seconds.
EXPIRES_AT = "expires_at"

# Names the lock of a unique job; whoever removes such a job frees the lock by it.
UNIQUE_DIGEST = "unique_digest"

# Of a `django.tasks` task: the alias of its backend and its priority.
DJANGO_TASK = "django_task"

# The class shown for bytes that were no job (Reference 3.1).
UNREADABLE_CLASS = "(unparseable)"
# Characters kept of such bytes (Reference 3).
RAW_LIMIT = 100_000
# Seconds until an interrupted job is tried again, times the interruptions so far (Reference 11).
INTERRUPT_DELAY = 30.0
# An interrupted job goes to Dead after more of them than this (Reference 11).
MAX_INTERRUPTS = 3
# A count beyond this was not counted, and one more than it can still be written whatever somebody wrote.
MAX_FAILURES = 10**15


def is_reserved(field: str) -> bool:
    """Tell whether a payload field is ours to set."""
    return field in RESERVED or field.startswith(RESERVED_PREFIX)


def read(raw: bytes) -> Payload:
    """Read a job from its bytes and check its shape.

    Args:
        raw: the bytes as they were in Redis.

    Returns:
        The payload: ``class``, ``jid`` and ``queue`` are non-empty strings, ``args`` a list, ``kwargs`` a
        dict if there.

    Raises:
        UnreadablePayload: the bytes are no job; the sentence says why.
    """
    return check_shape(codec.decode(raw))


def check_shape(payload: Payload) -> Payload:
    """Check the fields that every job has; returns and raises as `read`."""
    for field in ("class", "jid", "queue"):
        value = payload.get(field)
        if type(value) is not str or not value:
            raise UnreadablePayload(f"the payload has no {field}, or one that is not a non-empty string")
    if type(payload.get("args")) is not list:
        raise UnreadablePayload("the payload has no args, or args that are not an array")
    if type(payload.get("kwargs", _NO_KWARGS)) is not dict:
        raise UnreadablePayload("the payload's kwargs are not an object")
    return payload


_NO_KWARGS: dict[str, Any] = {}


def encoded(payload: Payload, limit: int) -> bytes:
    """Write a job as bytes.

    Args:
        payload: the job, its values checked.
        limit: the most bytes it may have.

    Raises:
        ValueError: it has more; the message names the size, the limit and the setting.
    """
    raw = codec.encode(payload)
    if len(raw) <= limit:
        return raw
    raise ValueError(
        f"the payload of {payload['class']} is {len(raw):,} bytes, over the limit of {limit:,} "
        '(COGWORKER["MAX_PAYLOAD_BYTES"]): pass less, or the id of what is stored elsewhere'
    )


def failures(payload: Payload, field: str = "retry_count") -> int:
    """Read how many failed attempts a payload has recorded.

    Args:
        payload: the job.
        field: ``"retry_count"``, or ``"interrupted_count"`` for those whose record failed.

    Returns:
        The number, 10**15 at most; 0 for an absent field or one that no worker of ours wrote.
    """
    count = payload.get(field)
    return min(count, MAX_FAILURES) if type(count) is int and count > 0 else 0


def unreadable(raw: bytes, queue: str | None, error: BaseException, now: float) -> Payload:
    """Wrap bytes that are no job, so that they can be kept and shown in Dead (Reference 3.1).

    Args:
        raw: the bytes.
        queue: the queue they were in, None if they were in a set.
        error: why they are no job.
        now: epoch seconds.
    """
    return {
        "class": UNREADABLE_CLASS,
        "args": [],
        "queue": queue,
        "jid": new_jid(),
        "retry": False,
        "retry_count": 0,
        "enqueued_at": now,
        "failed_at": now,
        "error_class": text.error_class(error),
        "error_message": text.error_message(error),
        "raw_payload": text.scrub(raw, RAW_LIMIT),
    }


def failed(payload: Payload, error_class: str, error_message: str, now: float) -> Payload:
    """Make the entry of a job that failed once more.

    ``failed_at`` is always the latest failure and ``first_failed_at`` the first (Engine 3.9, not upstream's).

    Args:
        payload: the job; not changed.
        error_class: the error's class name.
        error_message: the error's message.
        now: epoch seconds.

    Returns:
        A new payload with the error's fields and ``retry_count`` one higher.
    """
    entry = _with_error(payload, error_class, error_message, now)
    entry["retry_count"] = failures(payload) + 1
    return entry


def interrupted(payload: Payload, error: BaseException, now: float) -> Payload:
    """Make the entry of a job whose failure could not be recorded in the usual way (Reference 11).

    Args:
        payload: the job as read from its bytes, since what middleware made of it may be what does not encode.
        error: the job's error.
        now: epoch seconds.

    Returns:
        A new payload as by `failed`, and ``interrupted_count`` one higher.
    """
    entry = failed(payload, text.error_class(error), text.error_message(error), now)
    entry["interrupted_count"] = failures(payload, "interrupted_count") + 1
    return entry


def orphaned(payload: Payload, max_orphanings: int, now: float) -> Payload:
    """Make the Dead entry of a job whose process died too often while running it (Reference 10.2).

    Args:
        payload: the job; not changed.
        max_orphanings: how many times it was recovered.
        now: epoch seconds.
    """
    often = {0: "", 1: " more than once"}.get(max_orphanings, f" more than {max_orphanings} times")
    return _with_error(payload, "ProcessDied", f"its process died{often} while running it", now)


def _with_error(payload: Payload, error_class: str, error_message: str, now: float) -> Payload:
    first = payload.get("first_failed_at", payload.get("failed_at", now))
    return {
        **payload,
        "error_class": error_class,
        "error_message": error_message,
        "failed_at": now,
        "first_failed_at": first,
    }
