"""The wire between a swarm's parent and one of its children, and what is said on it.

A pair of sockets, one JSON message a line. Each side finds the other one gone by its end.
"""

from __future__ import annotations

import socket
from typing import Any, Literal

import msgspec

from cogworker_django.process.condition import Condition

MOST_BYTES = 1 << 20
"""Bytes that wait to be read or sent at most: far more than either side ever says."""


class Quiet(msgspec.Struct, frozen=True, tag="quiet"):
    """A child was told to fetch no more, or to fetch again."""

    quiet: bool


class Full(msgspec.Struct, frozen=True, tag="full"):
    """A child has reached a limit and wants to be replaced."""

    limit: str


class Leaving(msgspec.Struct, frozen=True, tag="leaving"):
    """A child leaves for good."""

    reason: Literal["retired", "drained"]


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A child cannot start, and waiting does not help."""

    problem: str


class SlotRow(msgspec.Struct, frozen=True, tag="slot"):
    """How a slot of the swarm is."""

    number: int
    state: str
    pid: int | None = None
    starts: int = 0
    """How often a process was started in it."""


class Table(msgspec.Struct, frozen=True, tag="table"):
    """The slots of the swarm, told by the parent for the pages."""

    parent: int
    """The parent's process id."""
    slots: list[SlotRow]


Message = Condition | Quiet | Full | Leaving | Refused | Table

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class Link:
    """One end of the wire; never waits.

    Args:
        wire: a socket, connected.
    """

    def __init__(self, wire: socket.socket) -> None:
        wire.setblocking(False)
        self._wire = wire
        self._heard = b""
        self._unsent = b""
        self.broken = False
        """Whether the other side is gone."""

    def fileno(self) -> int:
        """The file descriptor, for a selector."""
        return self._wire.fileno()

    def say(self, message: Message) -> None:
        """Send a message; dropped when the other side does not read and when it is gone."""
        if len(self._unsent) < MOST_BYTES:
            self._unsent += msgspec.json.encode(message) + b"\n"
        self._send()

    def offer(self, message: Message) -> bool:
        """Send a message that the next one of its kind replaces, but not on top of what waits to be sent.

        Returns:
            Whether it was sent.
        """
        self._send()
        if self._unsent:
            return False
        self.say(message)
        return True

    def hear(self) -> list[Message]:
        """Take what the other side has said since the last time."""
        self._read()
        *lines, self._heard = self._heard.split(b"\n")
        if len(self._heard) >= MOST_BYTES:
            # It is no message of ours; kept, it would keep all others from being read.
            self._heard = b""
        return [message for message in map(_read_message, lines) if message is not None]

    def close(self) -> None:
        """Close this end."""
        self._wire.close()

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[self._wire.send(self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            # What it has said before it went is still to be heard: only the end of that says that it is gone.
            self._unsent = b""

    def _read(self) -> None:
        while len(self._heard) < MOST_BYTES:
            try:
                said = self._wire.recv(65_536)
            except BlockingIOError:
                return
            except OSError:
                said = b""
            if not said:
                self.broken = True
                return
            self._heard += said


def pair() -> tuple[Link, Link]:
    """Make both ends of a wire."""
    here, there = socket.socketpair()
    return Link(here), Link(there)


def _read_message(line: bytes) -> Any:
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeError):
        return None
