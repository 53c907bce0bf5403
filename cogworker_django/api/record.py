"""A stored job as people and code want to see it."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

from cogworker_django.core import payload
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.payload import Payload


class JobRecord:
    """A job read from where it is stored.

    What cannot be read as a job shows as one whose `klass` is `(unparseable)`, with the reason and the stored
    text in its `item` (Reference 3.1).

    Args:
        value: the job as stored.
        queue: the queue it was found in, None in a set.
    """

    def __init__(self, value: bytes, queue: str | None = None) -> None:
        self.value = value
        """The job as stored: these bytes are its name."""
        self._found_in = queue

    @cached_property
    def item(self) -> Payload:
        """The whole payload."""
        try:
            return payload.read(self.value)
        except UnreadablePayload as error:
            return payload.unreadable(self.value, self._found_in, error, time.time())

    @property
    def klass(self) -> str:
        """The job's name."""
        return str(self.item["class"])

    @property
    def args(self) -> list[Any]:
        """Positional arguments."""
        args: list[Any] = self.item["args"]
        return args

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments."""
        kwargs: dict[str, Any] = self.item.get("kwargs", {})
        return kwargs

    @property
    def queue(self) -> str | None:
        """The queue it runs on; None when that is not known."""
        queue: str | None = self.item["queue"]
        return queue

    @property
    def jid(self) -> str:
        """Its id."""
        return str(self.item["jid"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.klass} {self.jid}>"
