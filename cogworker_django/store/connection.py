"""Opens clients: no hidden repeats, time limits chosen, pools sized (style anchors, part 5)."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from weakref import WeakSet

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.store.errors import SENSELESS

TIMEOUT = 5.0
"""Seconds that a command may take, and a connection to be made or to become free in the pool."""
OLD_CLIENT = int(redis.__version__.split(".")[0]) < 6
"""Whether redis-py counts repeats of a Cluster's commands apart from `retry`."""
TCP_ONLY = ("socket_connect_timeout", "socket_keepalive", "socket_keepalive_options")
"""Options that a connection over a Unix socket does not know."""
ANNOUNCEMENTS = "redis.maint_notifications"
"""The module of newer clients that lets servers announce their maintenance."""
SPARE = 5
"""Connections beyond one per thread: heartbeat, scheduler, recovery and two to spare (reference, section 1)."""


_met: WeakSet[redis.ConnectionPool] = WeakSet()
"""The pools that were found before a fork: what is frozen then, as the parent of a swarm does, is found only once."""


def connect(target: RedisTarget, *, connections: int, timeout: float = TIMEOUT) -> redis.Redis:
    """A client for a target; it connects when it is first used.

    It repeats nothing by itself: a push or a move that is repeated in silence after a lost reply would double or
    strand a job, so what to do after an error is decided by us.

    Args:
        target: where Redis is.
        connections: how many at most; a caller waits `timeout` seconds for a free one.
        timeout: seconds for each command; a blocking one must block for less.
    """
    options: dict[str, Any] = {
        **target.options,
        "socket_timeout": timeout,
        "socket_connect_timeout": TIMEOUT,
        "socket_keepalive": True,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        **_no_announcements(),
    }
    if target.cluster:
        return _cluster(target, options)
    options["redis_connect_func"] = greet
    if target.sentinels:
        return _sentinel(target, options, connections)
    options |= {"max_connections": connections, "timeout": TIMEOUT}
    if target.url is not None:
        if target.url.startswith("unix:"):
            options = _without(options, TCP_ONLY)
        pool = redis.BlockingConnectionPool.from_url(target.url, **options)
    else:
        address = {"host": target.host, "port": target.port, "db": target.db, "password": target.password}
        pool = redis.BlockingConnectionPool(**options, **address)
    return redis.Redis.from_pool(pool)


def close_everything() -> None:
    """Closes every connection to a Redis that this process holds, whoever has opened it: before a fork, since a
    socket that two processes hold is nobody's (case B080). A pool opens a new one for who asks.
    """
    # Not `isinstance`, which asks the object: a lazy one would be made for it, a dead proxy would be an error.
    _met.update(known for known in gc.get_objects() if issubclass(type(known), redis.ConnectionPool))
    for pool in list(_met):
        pool.disconnect()


def greet(connection: Any) -> None:
    """The greetings of a new connection. One that made no sense may have left it in another database than ours.

    Raises:
        ConnectionError: so that redis-py drops the connection, which it does for its own errors only.
    """
    try:
        connection.on_connect()
    except SENSELESS as error:
        raise redis.exceptions.ConnectionError(f"a greeting makes no sense: {error}") from error


def _no_announcements() -> dict[str, Any]:
    """With announcements of maintenance, a client no longer checks that nothing is left of the reply before, since
    what is left may be one: a damaged reply would be followed by those of other commands for ever.
    """
    if find_spec(ANNOUNCEMENTS) is None:
        return {}
    return {"maint_notifications_config": import_module(ANNOUNCEMENTS).MaintNotificationsConfig(enabled=False)}


def _cluster(target: RedisTarget, options: dict[str, Any]) -> redis.Redis:
    if OLD_CLIENT:
        options = {**options, "cluster_error_retry_attempts": 0}
    late: Any = LateCluster(partial(RedisCluster.from_url, target.url or "", **options))
    client: redis.Redis = late
    return client


class LateCluster:
    """A client of a Cluster that connects when it is first used, as the others do; redis-py's connects when made.

    Args:
        open_cluster: makes the client.
    """

    connection_pool = None
    """A Cluster has a pool a node, and its client chooses."""

    def __init__(self, open_cluster: Callable[[], Any]) -> None:
        self._open = open_cluster
        self._client: Any = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """Whatever the client has."""
        with self._lock:
            if self._client is None:
                self._client = self._open()
        return getattr(self._client, name)

    def close(self) -> None:
        """Closes its connections, if there are any."""
        if self._client is not None:
            self._client.close()


def _sentinel(target: RedisTarget, options: dict[str, Any], connections: int) -> redis.Redis:
    sentinel = Sentinel(
        list(target.sentinels),
        sentinel_kwargs={"socket_timeout": TIMEOUT, **(options.get("sentinel_kwargs") or {})},
        socket_timeout=TIMEOUT,
        **_without(options, ("sentinel_kwargs", "socket_timeout")),
    )
    master: redis.Redis = sentinel.master_for(
        target.service or "",
        db=target.db,
        password=target.password,
        max_connections=connections,
        socket_timeout=options["socket_timeout"],
    )
    return master


def _without(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}
