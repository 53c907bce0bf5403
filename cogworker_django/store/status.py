"""The status of each job: where it stands, how far it is, what it has returned (reference, section 18).

One value a job, not a hash of fields as upstream's: the queued one is written in the push, the last one in the
settlement, each as one command, so that following a job costs no round trip. Of a trip that settles 100 jobs, the
server spends half the time on it that a hash and its expiry would take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.store.gateway import Gateway


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    WORKING = "working"
    RETRYING = "retrying"
    """It has failed and will run again."""
    COMPLETE = "complete"
    FAILED = "failed"
    """It has failed for good, or was dropped by its hook."""


class Statuses:
    """Builds the values and reads them.

    Args:
        gateway: to Redis.
        expiration: seconds that a status lasts after its latest write; None when none is kept.
    """

    def __init__(self, gateway: Gateway, expiration: float | None) -> None:
        self._gateway = gateway
        self.ttl = 0 if expiration is None else math.ceil(expiration * 1000)
        """Milliseconds; 0 when none is kept."""

    def value(self, state: State, name: str, queue: str, now: float, fields: Mapping[str, Any] | None = None) -> str:
        """Build a status.

        Args:
            state: where the job stands.
            name: the job's name.
            queue: its queue.
            now: epoch seconds.
            fields: what else there is to say, its values checked.
        """
        status = {"status": state, "update_time": now, "class": name, "queue": queue}
        return codec.encode({**fields, **status} if fields else status).decode()

    def get(self, jid: str) -> dict[str, Any] | None:
        """Read a job's status; None when there is none, or something else in its place."""
        raw = self._gateway.call("GET", self._gateway.keys.status(jid))
        if raw is None:
            return None
        try:
            return codec.decode(raw)
        except UnreadablePayload:
            return None
