"""What queues and jobs may be called."""

from __future__ import annotations

import re

from cogworker_django.core.text import described

# Characters of a job's name; generated names of nested local classes come nowhere near.
JOB_NAME_LIMIT = 500
# Characters of a jid that a caller may give.
JID_LIMIT = 128

# Letters and digits of any script (Contract 2).
_QUEUE = re.compile(r"[\w.:@/-]{1,128}")


def check_queue(name: object) -> str:
    """Check a queue's name.

    Args:
        name: what was given as one.

    Returns:
        The name.

    Raises:
        TypeError: it is not a string.
        ValueError: it does not match ``[\\w.:@/-]{1,128}`` in full (Contract 2).
    """
    if type(name) is not str:
        raise TypeError(f"queue must be a string, not {described(name)}")
    if not _QUEUE.fullmatch(name):
        raise ValueError(
            f"queue name {described(name)} is not allowed: use 1 to 128 letters, digits or any of _ . : @ / -"
        )
    return name


def check_job_name(name: object) -> str:
    """Check the name a job is registered and pushed under.

    Raises:
        TypeError: it is not a string.
        ValueError: it is empty, too long, or has characters that cannot be printed.
    """
    return _printable(name, "job name", JOB_NAME_LIMIT)


def check_jid(jid: object) -> str:
    """Check a job id that a caller chose.

    Raises:
        TypeError: it is not a string.
        ValueError: it is empty, too long, or has characters that cannot be printed.
    """
    return _printable(jid, "jid", JID_LIMIT)


def _printable(value: object, what: str, limit: int) -> str:
    if type(value) is not str:
        raise TypeError(f"{what} must be a string, not {described(value)}")
    if not value or len(value) > limit or not value.isprintable():
        raise ValueError(f"{what} {described(value)} is not allowed: use 1 to {limit} printable characters")
    return value
