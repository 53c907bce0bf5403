"""Care for the database connections of the threads that run jobs, as Django does around a request.

A thread that has never opened a connection has nothing to be cared for: then both calls cost one look at a
thread's own flag.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial

from django.core.cache import caches
from django.db import close_old_connections, connections, reset_queries
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from cogworker_django.store.connection import close_everything

logger = logging.getLogger("cogworker")


class _Held:
    """The connections of one thread, closed when the thread ends: nothing else of Django's would do it.

    A thread's own objects go with the thread, and on it, so a connection is closed by the one that opened it.
    """

    def __init__(self) -> None:
        self.connections: list[BaseDatabaseWrapper] = []

    def __del__(self) -> None:
        for connection in self.connections:
            _quietly(connection.close)


class _Opened(threading.local):
    """Whether this thread has ever opened a connection, and which."""

    any = False

    def __init__(self) -> None:
        self.held = _Held()


_opened = _Opened()


def watch() -> None:
    """Begin to note which threads open connections; for a worker, before it starts any.

    Not for other processes: there, threads may share a connection, and who closes it is not ours to say.
    """
    connection_created.connect(_note, dispatch_uid="cogworker.connections")
    for settings in connections.settings.values():
        if settings.get("OPTIONS", {}).get("pool"):
            # As `_note` does for connections that a thread keeps: a pool reads it when it is made.
            settings["CONN_HEALTH_CHECKS"] = True


def close_all() -> None:
    """Close every connection to a database, a cache and a Redis: before a fork, so that no two processes share one."""
    for connection in connections.all(initialized_only=True):
        _quietly(connection.close)
        # A pool has threads, which a fork does not take along (Django 5.1 and later, PostgreSQL).
        _quietly(getattr(connection, "close_pool", _nothing))
    for cache in caches.all(initialized_only=True):
        _quietly(cache.close)
    _quietly(close_everything)


def before_job() -> None:
    """Forget the queries that were logged, and drop connections that are broken or too old."""
    if _opened.any:
        reset_queries()
        _close_old()


def after_job() -> None:
    """Roll back what was left open; drop connections that are broken or too old, all where `CONN_MAX_AGE` is 0."""
    if _opened.any:
        for connection in _opened.held.connections:
            if _is_left_open(connection):
                _quietly(partial(_roll_back, connection))
        _close_old()


def _is_left_open(connection: BaseDatabaseWrapper) -> bool:
    """Whether the job has begun a transaction and not ended it: the next job would be in it."""
    if connection.in_atomic_block:
        return True
    return connection.connection is not None and connection.settings_dict["AUTOCOMMIT"] and not connection.autocommit


def _roll_back(connection: BaseDatabaseWrapper) -> None:
    logger.error("a job has left a transaction open on the database %s: it is rolled back", connection.alias)
    # Django keeps a connection that is closed inside of a block unusable until the end of it, which will not come.
    connection.in_atomic_block = False
    connection.close()


def _note(connection: BaseDatabaseWrapper, **_: object) -> None:
    # Whatever CONN_HEALTH_CHECKS says: a thread may have idled for hours, and a connection that the server has closed
    # meanwhile would be the failure of a job that can do nothing about it (case B102). One question a job that has one.
    connection.health_check_enabled = True  # type: ignore[attr-defined]
    _opened.any = True
    held = _opened.held.connections
    if all(connection is not known for known in held):
        held.append(connection)


def _nothing() -> None:
    pass


def _close_old() -> None:
    _quietly(close_old_connections)


def _quietly(step: Callable[[], object]) -> None:
    # What fails here is not the job's failure: it has run, or can open a connection of its own.
    try:
        step()
    except Exception:
        logger.exception("database connections could not be refreshed")
