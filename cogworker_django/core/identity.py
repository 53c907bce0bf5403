"""Names for processes and jobs."""

from __future__ import annotations

import os
import re
import socket

# Characters of the host part: enough for any host, and bounded since it is part of key names.
HOST_LIMIT = 100

_UNUSUAL = re.compile(r"[^A-Za-z0-9_.-]")


def new_identity() -> str:
    """Name this process: unlike any other's, also after a fork.

    Returns:
        ``"<host>:<pid>:<12 hex digits>"``, where the host is ``DYNO`` from the environment or the host's name
        (Reference 21).
    """
    host = os.environ.get("DYNO") or socket.gethostname()
    return f"{_UNUSUAL.sub('-', host)[:HOST_LIMIT] or 'host'}:{os.getpid()}:{os.urandom(6).hex()}"


def new_jid() -> str:
    """Name a job: 24 hex digits, from the system's generator so that no seed or fork repeats one."""
    return os.urandom(12).hex()


def new_jids(count: int) -> list[str]:
    """Name many jobs with one call to the system's generator.

    Args:
        count: how many.
    """
    digits = os.urandom(12 * count).hex()
    return [digits[start : start + 24] for start in range(0, 24 * count, 24)]
