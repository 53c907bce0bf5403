"""How long a key lasts, to the second, however busy the machine is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redis

# Milliseconds by which the server's clock within a command may be behind the one it tells.
SLACK = 50


def clock(client: redis.Redis) -> int:
    """The server's time in milliseconds."""
    seconds, microseconds = client.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


@contextmanager
def lasting(client: redis.Redis, key: str, seconds: float) -> Iterator[None]:
    """See that what is done here makes a key last exactly so long from then on."""
    before = clock(client)
    yield
    ends, after = client.pexpiretime(key), clock(client)
    assert before - SLACK <= ends - seconds * 1000 <= after + SLACK
