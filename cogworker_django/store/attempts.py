"""The record of a job's failed attempts: the newest 25, for 30 days, until it succeeds (Reference 12.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import msgspec

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.settlement import Command

MOST = 25  # attempts kept per job
KEPT = 30 * 86_400  # seconds after the latest attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One failed attempt."""

    attempt: int
    """Its number, from 1."""
    failed_at: float
    """Epoch seconds."""
    outcome: str
    """What became of the job: a `core.outcome.Fate`."""
    error_class: str
    error_message: str
    backtrace: list[str] = field(default_factory=list)
    """Lines, scrubbed and cut by `core.text.backtrace`."""
    host: str = ""
    """The identity of the process that ran it."""
    duration: float | None = None
    """Seconds that it ran."""


class Attempts:
    """Builds the commands that record and clear attempts, and reads them.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def recorded(self, jid: str, attempt: Attempt) -> list[Command]:
        """Build the commands that record an attempt, for whoever settles it.

        Args:
            jid: the job's id.
            attempt: with texts that can be encoded.
        """
        key = self._keys.attempts(jid)
        return [
            ["RPUSH", key, codec.encode(asdict(attempt)).decode()],
            ["LTRIM", key, -MOST, -1],
            ["EXPIRE", key, KEPT],
        ]

    def cleared(self, jid: str) -> list[Command]:
        """Build the command that forgets a job's attempts: it has succeeded, or it is deleted."""
        return [["DEL", self._keys.attempts(jid)]]

    def of(self, jid: str) -> list[Attempt]:
        """Read a job's attempts, oldest first; elements that cannot be read are left out."""
        return attempts_in(self._gateway.call("LRANGE", self._keys.attempts(jid), 0, -1))


def attempts_in(raws: Iterable[bytes]) -> list[Attempt]:
    """Read stored attempts; elements that cannot be read are left out."""
    return [attempt for attempt in map(_attempt, raws) if attempt is not None]


def _attempt(raw: bytes) -> Attempt | None:
    try:
        return msgspec.convert(codec.decode(raw), Attempt)
    except (UnreadablePayload, msgspec.ValidationError):
        return None
