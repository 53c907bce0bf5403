"""Care for the database connections of the threads that run jobs, as Django does around a request.

A thread that has never opened a connection has nothing to be cared for: then both calls cost one look at a
thread's own flag.
"""

from __future__ import annotations

import logging
import threading

from django.db import close_old_connections, reset_queries
from django.db.backends.signals import connection_created

logger = logging.getLogger("cogworker")


class _Opened(threading.local):
    """Whether this thread has ever opened a connection."""

    any = False


_opened = _Opened()


def watch() -> None:
    """Begin to note which threads open connections; called once, when the app is ready."""
    connection_created.connect(_note, dispatch_uid="cogworker.connections")


def before_job() -> None:
    """Forget the queries that were logged, and drop connections that are broken or too old."""
    if _opened.any:
        reset_queries()
        _close_old()


def after_job() -> None:
    """Drop connections that are broken or too old; all of them where `CONN_MAX_AGE` is 0."""
    if _opened.any:
        _close_old()


def _note(**_: object) -> None:
    _opened.any = True


def _close_old() -> None:
    # What fails here is not the job's failure: it has run, or can open a connection of its own.
    try:
        close_old_connections()
    except Exception:
        logger.exception("database connections could not be refreshed")
