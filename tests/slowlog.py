"""How long the server was busy with single calls, by its own clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import redis

LIMIT = 100_000
"""Microseconds that no single call may take (case B059): nobody else is served meanwhile."""
SETTINGS = {"slowlog-log-slower-than": 1_000, "slowlog-max-len": 10_000}
"""Microseconds of the shortest call that is logged, and how many are kept: the longest must not be pushed out by
others."""


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
        """The longest call since the latest look, in microseconds; 0 when all were below a millisecond.

        Without what the server has waited for a processor meanwhile: on a busy machine that is most of a call's time,
        and which call it was at is not known. On an idle one it is nothing.
        """
        durations = [entry["duration"] for entry in self._client.slowlog_get(SETTINGS["slowlog-max-len"])]
        waited = self._waited() - self._before_wait
        self.reset()
        return max(0, max(durations, default=0) - waited)

    def reset(self) -> None:
        """Forget what was done so far."""
        self._client.slowlog_reset()
        self._before_wait = self._waited()

    def _waited(self) -> int:
        """Microseconds that the server has waited for a processor so far; 0 where the system does not tell."""
        server: dict[str, Any] = self._client.info("server")
        try:
            return int(Path(f"/proc/{server['process_id']}/schedstat").read_text(encoding="ascii").split()[1]) // 1_000
        except OSError:
            return 0

    def close(self) -> None:
        """Log as before."""
        self._set(self._before)

    def _set(self, settings: Mapping[str, int | str]) -> None:
        for name, value in settings.items():
            self._client.config_set(name, value)
        self.reset()


def best(attempt: Callable[[], int]) -> int:
    """The longest call of the best of three attempts. A call that takes long by itself does so three times."""
    longest = attempt()
    for _ in range(2):
        if longest < LIMIT:
            break
        longest = min(longest, attempt())
    return longest


def cost(client: redis.Redis, action: Callable[[], object]) -> int:
    """Microseconds of a processor that the server spends on an action in all."""
    before = _used(client)
    action()
    return _used(client) - before


def _used(client: redis.Redis) -> int:
    stats: dict[str, Any] = client.info("cpu")
    return int((stats["used_cpu_user_main_thread"] + stats["used_cpu_sys_main_thread"]) * 1_000_000)
