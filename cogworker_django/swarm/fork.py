"""How a child of a swarm comes to be."""

from __future__ import annotations

import logging
import os
import signal
import warnings
from collections.abc import Callable, Sequence
from typing import NoReturn

from cogworker_django.process import streams
from cogworker_django.process.commands import SIGNALS, Commands
from cogworker_django.process.link import Link, pair

logger = logging.getLogger("cogworker")

HELD = {*SIGNALS, signal.SIGCHLD}
"""Signals that wait while a child is made: one that came too early would meet the parent's handlers in it."""

Body = Callable[[Link, Commands], int]
"""What a child runs: given its link to the parent and its commands, returns its exit status."""


def fork(body: Body, hangup: str, let_go: Callable[[], None]) -> tuple[int, Link]:
    """Make a child.

    Args:
        body: what it runs.
        hangup: what a HUP asks it for.
        let_go: called in the child, closes what is the parent's alone.

    Returns:
        The child's process id and the parent's end of the link.

    Raises:
        OSError: the system gives no further process.
    """
    here, there = pair()
    # What waits in a buffer would be written twice.
    streams.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        pid = _fork()
        if pid == 0:
            _live(body, hangup, [let_go, here.close], there)
    except OSError:
        here.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        there.close()
    return pid, here


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of threads that a project has started. What can be done about them is said in one sentence of
        # ours, once; as an error it would lose the child.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _live(body: Body, hangup: str, steps: Sequence[Callable[[], None]], link: Link) -> NoReturn:
    """The whole life of a child; whatever happens, it never comes back into the parent's code."""
    status = 1
    try:
        # First: when descriptors are short, it needs those that the parent has.
        for let_go in steps:
            let_go()
        commands = _separate(hangup)
        status = body(link, commands)
    except BaseException:
        logger.exception("the process met an error and ends")
    finally:
        _leave(status)


def _separate(hangup: str) -> Commands:
    """Become a process of its own: its group, its signals, nothing to read."""
    # Ctrl-C in a terminal reaches the parent alone, which tells its children what to do; and whatever a job has
    # started can be ended with its process.
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Output from the background would stop it on a terminal that says so.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    commands = Commands(hangup)
    commands.listen()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    return commands


def _leave(status: int) -> NoReturn:
    # A thread that does not end must not keep the process.
    try:
        logging.shutdown()
        streams.flush()
    finally:
        os._exit(status)
