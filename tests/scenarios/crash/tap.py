"""Counts the commands that a process sends, and strikes at one of them."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import redis
from redis.connection import AbstractConnection

from cogworker_django.store.scripts import load, names

HANDSHAKE = frozenset({"HELLO", "AUTH", "CLIENT", "SELECT", "PING", "COMMAND"})
"""What the client library says by itself when it connects."""
WORDS = re.compile(rb"\*\d+\r\n\$\d+\r\n(\w+)\r\n(?:\$\d+\r\n([0-9a-f]{40})\r\n)?")
A_MOMENT = 0.002
"""Seconds after a reply until a process dies of it: it has begun to act on it by then."""


class Position(StrEnum):
    """Where in a command's life the fault lies."""

    BEFORE = "before"
    """Nothing was sent."""
    EXECUTED = "executed"
    """The server has done it, and the reply never arrives."""
    ANSWERED = "answered"
    """The reply was handed over."""


class Mode(StrEnum):
    """What the fault is."""

    KILL = "kill"
    """The process is gone, as after `kill -9`."""
    ERROR = "error"
    """The connection is gone, and the process lives."""


class Tap:
    """Sits between redis-py and the socket of every connection of this process.

    Args:
        number: of the command to strike at, from 1; 0 only counts.
        position: where.
        mode: how.
    """

    def __init__(self, number: int, position: Position, mode: Mode) -> None:
        self.commands: list[str] = []
        """What was sent so far: a command, or the name of a script."""
        self._number = number
        self._position = position
        self._mode = mode
        self._lock = threading.Lock()
        self._struck: Any = None
        self._scripts = {load(name).sha: name for name in names()}

    def install(self) -> None:
        """From here on every command passes through it."""
        patched: Any = AbstractConnection
        send, read = patched.send_packed_command, patched.read_response
        tap = self

        def send_packed_command(connection: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
            tap._before(connection, command)
            return send(connection, command, *args, **kwargs)

        def read_response(connection: Any, *args: Any, **kwargs: Any) -> Any:
            return tap._after(connection, lambda: read(connection, *args, **kwargs))

        patched.send_packed_command, patched.read_response = send_packed_command, read_response

    def _before(self, connection: Any, command: Any) -> None:
        packed = command if isinstance(command, bytes) else b"".join(command)
        match = WORDS.match(packed)
        word = match[1].decode().upper() if match else "?"
        if word in HANDSHAKE:
            return
        sha = match[2].decode() if match and match[2] else ""
        with self._lock:
            self.commands.append(self._scripts.get(sha, word))
            mine = len(self.commands) == self._number
        if not mine:
            return
        if self._position is Position.BEFORE:
            self._strike(connection)
        self._struck = connection

    def _after(self, connection: Any, read: Callable[[], Any]) -> Any:
        if self._struck is not connection:
            return read()
        self._struck = None
        try:
            return read()
        finally:
            # Also when the reply is an error.
            if self._position is Position.EXECUTED:
                self._strike(connection)
            elif self._mode is Mode.KILL:
                threading.Timer(A_MOMENT, die).start()
            else:
                connection.disconnect()

    def _strike(self, connection: Any) -> None:
        if self._mode is Mode.KILL:
            die()
        connection.disconnect()
        raise redis.exceptions.ConnectionError("cut off by the test")


def die() -> None:
    """Ends this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)
