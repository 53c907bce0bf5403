"""Reading several things at once when one damaged key must not hide the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.errors import sensible, translated, translation
from cogworker_django.store.gateway import Arg, Gateway

Command = Sequence[Arg]


def each(gateway: Gateway, commands: Sequence[Command]) -> list[Any]:
    """Run commands in one round trip, each on its own.

    Args:
        gateway: the way to Redis.
        commands: what to run.

    Returns:
        One reply a command; in the place of one that was refused (wrong type, no right) a `RedisRefused`.

    Raises:
        RedisUnavailable: Redis is away, for one command or for all.
    """
    with translated(), sensible():
        pipe: Any = gateway.client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        return [_settled(reply) for reply in pipe.execute(raise_on_error=False)]


def or_else(reply: Any, default: Any) -> Any:
    """Take a reply of `each`, or a default in the place of a refused or empty one."""
    return default if reply is None or isinstance(reply, RedisRefused) else reply


def seconds(reply: Sequence[Any]) -> float:
    """Read the reply of `TIME`: epoch seconds on the server's clock."""
    return int(reply[0]) + int(reply[1]) / 1_000_000


def _settled(reply: Any) -> Any:
    if not isinstance(reply, RedisError):
        return reply
    error = translation(reply)
    if isinstance(error, RedisRefused):
        return error
    raise error from reply
