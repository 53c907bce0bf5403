"""The standard streams: there whatever this process was started without, and emptied before it forks or ends."""

from __future__ import annotations

import contextlib
import os
import sys


def fill() -> None:
    """Put the null device wherever standard input, output or errors are closed, before anything else is opened.

    Otherwise the next connection would get the number of one of them, and with it whatever a traceback or a program
    that a job starts writes there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)
            # It got the lowest free number, this one; programs that are started shall have it too.
            os.set_inheritable(nothing, True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process


def flush() -> None:
    """Write what waits in the buffers of output and errors; if nobody can read it any more, it is nobody's loss."""
    for stream in (sys.stdout, sys.stderr):
        # A job may have closed it, or have put something else there.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
