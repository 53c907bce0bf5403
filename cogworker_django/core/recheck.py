"""The second look at a payload, after client middleware had it in hand (Contract 3)."""

from __future__ import annotations

from typing import Any

from cogworker_django.core import arguments, names, payload
from cogworker_django.core.options import check_retry, check_unique
from cogworker_django.core.payload import Payload


def rechecked(changed: Payload) -> Payload:
    """Check a payload as middleware left it, by the rules that hold for a call.

    Args:
        changed: the payload.

    Returns:
        A copy that shares nothing with it.

    Raises:
        TypeError: a field has a wrong type; the message names the field.
        ValueError: a field is missing or has a wrong value.
    """
    copy: dict[str, Any] = {}
    for field, value in changed.items():
        if type(field) is not str:
            raise TypeError(f"the payload's key {field!r} is not a string")
        copy[field] = arguments.checked(value, field)
    payload.check_shape(copy)
    names.check_job_name(copy["class"])
    names.check_jid(copy["jid"])
    names.check_queue(copy["queue"])
    check_retry(copy.get("retry"))
    check_unique(copy.get("unique"))
    return copy
