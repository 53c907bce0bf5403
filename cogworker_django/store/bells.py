"""Waiting for work without polling: one blocking call on the bells of many queues."""

from __future__ import annotations

from collections.abc import Sequence

from cogworker_django.store.gateway import Gateway


class Bells:
    """Waits at bells over a connection of its own, which may block longer than others.

    Args:
        gateway: with that connection.
        ordinary: with the shared ones, for everything that does not block.
    """

    def __init__(self, gateway: Gateway, ordinary: Gateway) -> None:
        self._gateway = gateway
        self._ordinary = ordinary

    def wait(self, keys: Sequence[str], timeout: float) -> tuple[str, bytes] | None:
        """Takes the next token from one of the bells.

        Args:
            keys: of the bells, in the order in which they are looked at.
            timeout: seconds to wait at most.

        Returns:
            The bell's key and the token; None when none rang.
        """
        reply = self._gateway.call("BLPOP", *keys, timeout)
        return (reply[0].decode(), reply[1]) if reply else None

    def put_back(self, key: str, token: bytes) -> None:
        """Puts a token back that this process will not follow, for another one."""
        self._ordinary.run("put_back", (key, self._ordinary.keys.nothing), (token,))

    def any_jobs(self, queues: Sequence[str]) -> bool:
        """Whether one of the queues holds a job: how jobs pushed by foreign tools are found."""
        keys = [key for name in queues for key in self._ordinary.keys.lanes(name)]
        return bool(self._ordinary.call("EXISTS", *keys))
