"""Which Redis errors mean "not there at the moment", decided once for the whole product (reference, section 23)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import redis.exceptions

from cogworker_django.core.errors import RedisDenied, RedisRefused, RedisUnavailable

# First words of error replies of a server that is starting, failing over or busy. redis-py has classes for some
# of them only, and an error raised inside a script carries the word in its text.
AWAY = frozenset({"READONLY", "LOADING", "MASTERDOWN", "TRYAGAIN", "BUSY", "UNBLOCKED", "CLUSTERDOWN", "NOREPLICAS"})
ERRORS = (redis.exceptions.RedisError, redis.exceptions.RedisClusterException, OSError)
"""Everything that redis-py raises for what happens between us and the server."""
AWAY_ERRORS = (
    redis.exceptions.ReadOnlyError,
    redis.exceptions.TryAgainError,
    # Its subclass is for MASTERDOWN, a replica without its main server, in a Cluster or not.
    redis.exceptions.ClusterDownError,
)
"""Classes for some of those words, whose texts no longer have the word."""
SENSELESS = (AttributeError, IndexError, TypeError, ValueError)
"""What decoding a reply raises that has not the form of replies to its command."""
CONNECTION_ERRORS = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    # What arrived is no reply: whether the command was carried out is unknown, as when none arrives.
    redis.exceptions.InvalidResponse,
    # No node answers, or a slot has none; that keys lie in different slots is ruled out by the check of the prefix.
    redis.exceptions.RedisClusterException,
    OSError,
)
DENIED = (redis.exceptions.AuthenticationError, redis.exceptions.NoPermissionError)
DENIED_IN_SCRIPT = ("ACL failure in script", "can't run this command or subcommand")
"""What servers say, newer and older ones, that do not let their user run a command of a script."""
WRAPPED = re.compile(r"\b(READONLY|LOADING|MASTERDOWN|TRYAGAIN|CLUSTERDOWN)\b")


def is_away(error: BaseException) -> bool:
    """Whether an error means that Redis cannot be used now but may be later; OOM and WRONGTYPE do not."""
    if isinstance(error, CONNECTION_ERRORS) and not isinstance(error, redis.exceptions.AuthenticationError):
        return True
    if isinstance(error, AWAY_ERRORS):
        return True
    if isinstance(error, redis.exceptions.ResponseError):
        return reply_is_away(str(error))
    return False


def reply_is_away(text: str) -> bool:
    """The same for the text of an error reply, for replies that a script collected (`pcall`)."""
    words = text.lstrip("-").split(maxsplit=1)
    if words and words[0] in AWAY:
        return True
    return "script" in text.lower() and WRAPPED.search(text) is not None


@contextmanager
def translated() -> Iterator[None]:
    """Turns redis-py's errors into ours.

    Raises:
        RedisUnavailable: the server is away, and the same call may work later.
        RedisRefused: the server answered with an error.
    """
    try:
        yield
    except ERRORS as error:
        raise translation(error) from error


def translation(error: Exception) -> RedisUnavailable | RedisRefused:
    """Our error for one of redis-py's."""
    text = f"{type(error).__name__}: {error}" if not str(error).strip() else str(error)
    if is_away(error):
        return RedisUnavailable(f"Redis is not available: {text}")
    if isinstance(error, DENIED) or any(words in text for words in DENIED_IN_SCRIPT):
        return RedisDenied(f"Redis does not let us in, check the user and the password in the settings: {text}")
    return RedisRefused(f"Redis refused a command: {text}")


@contextmanager
def sensible() -> Iterator[None]:
    """Around the decoding of a reply on which jobs depend: one that makes no sense was damaged on its way.

    Raises:
        RedisUnavailable: it makes no sense; whether the command was carried out is unknown.
    """
    try:
        yield
    except SENSELESS as error:
        raise RedisUnavailable(f"Redis is not available: a reply makes no sense: {error}") from error
