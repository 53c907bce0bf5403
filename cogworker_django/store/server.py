"""What the Redis server tells about itself."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.gateway import Gateway

RELIABLE_SINCE = (6, 2)
"""The first version whose RPOP takes a count, which reliable fetch needs."""
VERSION = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, kw_only=True)
class Life:
    """One life of a server, from start to end."""

    run_id: str
    """Its own name for it."""
    uptime: float
    """Seconds since its start."""
    now: float
    """Its clock, epoch seconds; ours where it does not tell."""


class Server:
    """Asks the server about itself, and does without where it may not be asked.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def supports_reliable(self) -> bool:
        """Whether reliable fetch works there; a server that does not tell its version is taken for a current one.

        Raises:
            RedisUnavailable: nothing is decided while Redis is away (reference, R45).
        """
        try:
            info = self._gateway.call("INFO", "server")
        except RedisRefused:
            return True
        found = VERSION.match(str(info.get("redis_version", "")))
        return found is None or (int(found[1]), int(found[2])) >= RELIABLE_SINCE

    def life(self) -> Life | None:
        """The server's present life; None when it may not be asked."""
        try:
            info = self._gateway.call("INFO", "server")
        except RedisRefused:
            return None
        now = float(info.get("server_time_usec", time.time() * 1e6)) / 1e6
        return Life(run_id=str(info.get("run_id")), uptime=float(info.get("uptime_in_seconds", 0)), now=now)

    def eviction_policy(self) -> str | None:
        """What the server throws away when its memory is full; None when it may not be asked (case B069)."""
        try:
            info = self._gateway.call("INFO", "memory")
        except RedisRefused:
            return None
        policy = info.get("maxmemory_policy")
        return str(policy) if policy else None

    def is_persistent(self) -> bool | None:
        """Whether the server writes each change to an append-only file; None when it does not tell."""
        try:
            info = self._gateway.call("INFO", "persistence")
        except RedisRefused:
            return None
        enabled = info.get("aof_enabled")
        return None if enabled is None else bool(int(enabled))
