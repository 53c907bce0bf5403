"""How long the server was busy with single calls, by its own clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import redis

LIMIT = 100_000
"""Microseconds that no single call may take (case B059): nobody else is served meanwhile."""
SETTINGS = {"slowlog-log-slower-than": 1_000, "slowlog-max-len": 10_000}
"""Microseconds of the shortest call that is logged, and how many are kept: the longest must not be pushed out by
others."""
OURS = ("cmdstat_info", "cmdstat_config", "cmdstat_slowlog")


class Slowlog:
    """The server's log of slow calls.

    Args:
        client: to the server.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._before = {name: str(client.config_get(name)[name]) for name in SETTINGS}
        self._set(SETTINGS)

    def longest(self) -> int:
        """The longest call since the latest look, in microseconds; 0 when all were below a millisecond."""
        durations = [entry["duration"] for entry in self._client.slowlog_get(SETTINGS["slowlog-max-len"])]
        self._client.slowlog_reset()
        return max(durations, default=0)

    def reset(self) -> None:
        """Forget what was done so far."""
        self._client.slowlog_reset()

    def close(self) -> None:
        """Log as before."""
        self._set(self._before)

    def _set(self, settings: Mapping[str, int | str]) -> None:
        for name, value in settings.items():
            self._client.config_set(name, value)
        self._client.slowlog_reset()


def best(attempt: Callable[[], int], limit: int = LIMIT) -> int:
    """The longest call of the best of three attempts: on a busy machine the server itself may be made to wait, and
    that counts as time of the call that it was at. A call that takes long by itself does so three times.
    """
    longest = attempt()
    for _ in range(2):
        if longest < limit:
            break
        longest = min(longest, attempt())
    return longest


def cost(client: redis.Redis, action: Callable[[], object]) -> int:
    """Microseconds that the server spends on an action in all."""
    client.config_resetstat()
    action()
    stats: dict[str, Any] = client.info("commandstats")
    return sum(int(each["usec"]) for name, each in stats.items() if not name.startswith(OURS))
