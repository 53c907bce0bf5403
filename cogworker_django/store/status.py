"""The status of each job: where it stands, how far it is, what it has returned (reference, section 18).

One value a job, not a hash of fields as upstream's: the queued one is written in the push, the last one in the
settlement, each as one command where a hash would need two. Each write is the whole truth as its writer knows it: what
an earlier attempt has told with `Job.store` is gone once the next one has something to tell. An older write never
overwrites a newer one: the queued one is in Redis before anybody can fetch the job, and all others are written only
while the job is in the writer's hands.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.state import State
from cogworker_django.store.gateway import Gateway


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

    def write(self, jid: str, state: State, name: str, queue: str, fields: Mapping[str, Any]) -> None:
        """Write a status by itself, for what happens outside of a trip; nothing when none is kept.

        Args:
            jid: the job's id.
            state: as the other arguments, for `value`.
            name: the job's name.
            queue: its queue.
            fields: what else there is to say.
        """
        if self.ttl:
            value = self.value(state, name, queue, time.time(), fields)
            self._gateway.call("SET", self._gateway.keys.status(jid), value, "PX", self.ttl)

    def get(self, jid: str) -> dict[str, Any] | None:
        """Read a job's status; None when there is none, or something else in its place."""
        raw = self._gateway.call("GET", self._gateway.keys.status(jid))
        if raw is None:
            return None
        try:
            return codec.decode(raw)
        except UnreadablePayload:
            return None
