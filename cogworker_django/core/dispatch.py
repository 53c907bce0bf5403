"""The one port of the package: where jobs go once they are ready to be written.

In a worker or a web process Redis is behind it; under test it may be a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from cogworker_django.core.payload import Payload


class Push(msgspec.Struct, frozen=True, gc=False):
    """A job ready to be written.

    A struct, and one the garbage collector does not look at, because there may be a million at once; it never
    refers to itself.
    """

    payload: Payload
    """The job."""
    raw: bytes
    """The same, encoded: its identity from now on."""
    delay: float | None
    """Seconds from now, on Redis's clock; None unless the caller gave a delay."""
    at: float | None
    """Epoch seconds; None unless the caller gave a time. Without both it goes to its queue at once."""
    digest: str | None = None
    """Names the lock of a unique job; None for one that is not."""
    on_commit: bool | str | None = None
    """True, or the alias of a database: it waits for the commit of a transaction that is open there."""


class Dispatcher(Protocol):
    """Where ready jobs go."""

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """Write jobs, at most 1,000 of them.

        Returns:
            For each its jid, or None if it was refused as a duplicate.

        Raises:
            RedisUnavailable: Redis is away.
            RedisRefused: Redis refused the write.
        """
        ...


@runtime_checkable
class Bench(Protocol):
    """A dispatcher under test that keeps jobs, and performs them when it is told to (Contract 8)."""

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """As `Dispatcher.push`."""
        ...

    def jobs(self, name: str | None) -> list[Payload]:
        """The payloads of what was pushed and not performed, oldest first; of one job, or of all."""
        ...

    def perform_one(self, name: str | None) -> None:
        """Perform the oldest."""
        ...

    def drain(self, name: str | None, until: datetime | float | None) -> int:
        """Perform all, and scheduled ones due by a time; how many."""
        ...

    def clear(self, name: str | None) -> None:
        """Forget them."""
        ...
