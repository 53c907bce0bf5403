"""Which processes have ended."""

from __future__ import annotations

import os
from collections.abc import Iterable


def ended(pids: Iterable[int]) -> dict[int, int]:
    """Take up the ends of processes, without waiting for any.

    The first process of a container also gets the orphans of all others, which nobody else would bury.

    Args:
        pids: of the own children.

    Returns:
        For each that has ended its exit status; negative for the signal that has ended it.
    """
    found = dict(_until_none(-1)) if os.getpid() == 1 else {}
    for pid in pids:
        if pid not in found:
            found |= _until_none(pid)
    return found


def described(status: int) -> str:
    """Say an exit status in words; negative for a signal."""
    return f"by signal {-status}" if status < 0 else f"with exit status {status}"


def _until_none(which: int) -> Iterable[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(which, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)
