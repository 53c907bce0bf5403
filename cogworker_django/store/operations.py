"""What is remembered of an operation over all jobs that match, between its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cogworker_django.core import codec
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.process_reader import object_in

KEPT = 86_400  # seconds after the latest step
LEASE = 30  # seconds that a step may hold an operation


class Operations:
    """Keeps one record an operation.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def read(self, name: str) -> dict[str, Any]:
        """Return the record of an operation; an empty one when there is none."""
        return object_in(self._gateway.call("GET", self._keys.operation(name)))

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Write the record of an operation."""
        self._gateway.call("SET", self._keys.operation(name), codec.encode(record), "EX", KEPT)

    def take(self, name: str) -> bool:
        """Take an operation for one step; False while another step has it."""
        return self._gateway.call("SET", self._keys.operation_lease(name), "1", "NX", "EX", LEASE) is not None

    def give_back(self, name: str) -> None:
        """Let the next step have it."""
        self._gateway.call("DEL", self._keys.operation_lease(name))
