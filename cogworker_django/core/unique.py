"""What makes two jobs the same: the digest that the lock of a unique job is named after (Reference 17.1)."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from cogworker_django.core.options import UNTIL_EXECUTED
from cogworker_django.core.payload import UNIQUE_DIGEST, Payload

# Key order says nothing about a job: {"a": 1, "b": 2} and {"b": 2, "a": 1} are the same arguments.
_CANONICAL = msgspec.json.Encoder(order="sorted")
DIGEST = re.compile(r"[0-9a-f]{32}")


def digest_of(payload: Payload) -> str | None:
    """Work out the digest of a job that is to be unique.

    Two jobs are the same when their class, queue, ``args`` and ``kwargs`` are the same JSON, whatever the order of the
    keys. Numbers count as they are written: 1, 1.0 and True are three things, and so are an argument by position and
    the same by keyword.

    Args:
        payload: the job, its values checked.

    Returns:
        32 hexadecimal digits; None for a job that is not to be unique.
    """
    if payload.get("unique") != UNTIL_EXECUTED:
        return None
    said = [payload["class"], payload["queue"], payload["args"], payload.get("kwargs", {})]
    return hashlib.blake2b(_CANONICAL.encode(said), digest_size=16).hexdigest()


def sealed(payload: Payload) -> str | None:
    """Write the digest into a job that is to be unique, as the last thing before it is encoded; see `digest_of`."""
    digest = digest_of(payload)
    if digest is not None:
        payload[UNIQUE_DIGEST] = digest
    return digest


def digest_in(payload: Payload) -> str | None:
    """Read the digest that a job was pushed with; None for one without, or with something else in its place."""
    digest: Any = payload.get(UNIQUE_DIGEST)
    return digest if type(digest) is str and DIGEST.fullmatch(digest) else None
