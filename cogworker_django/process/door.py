"""Answers questions about health over HTTP, one short answer a connection, without ever waiting for anybody."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus

from cogworker_django.core.address import Address
from cogworker_django.process.board import TEXT, Answer, Board

MOST_VISITORS = 50
"""Connections at a time; one more is closed at once."""
LONGEST_VISIT = 5.0
"""Seconds that a connection may take."""
LONGEST_REQUEST = 8_192
"""Bytes of a request."""
LOOK = 1.0
"""Seconds between two looks at visitors that take too long."""


class Door:
    """Listens on one address.

    Args:
        address: where.
        board: what is told.

    Raises:
        OSError: the address cannot be had.
    """

    def __init__(self, address: Address, board: Board) -> None:
        self._board = board
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._listening = socket.create_server((address.host, address.port), family=family)
        self._listening.setblocking(False)
        self._visitors: dict[socket.socket, _Visit] = {}
        self._shut_until: float | None = None
        """While there is no descriptor for one visitor more, on the monotonic clock."""

    def open(self, selector: selectors.BaseSelector) -> None:
        """Have a loop watch the door: what it selects holds, as its data, what to call."""
        self._selector = selector
        selector.register(self._listening, selectors.EVENT_READ, self._let_in)

    def serve(self) -> None:
        """Answer from a thread of its own, for as long as the process lives."""
        selector = selectors.PollSelector()
        self.open(selector)
        # What a job forks and leaves behind must not keep the address from the next worker.
        os.register_at_fork(after_in_child=self.close)
        threading.Thread(target=self._loop, args=(selector,), name="cogworker-health", daemon=True).start()

    def close(self) -> None:
        """Leave the address to others; in a fork, without a word to anybody."""
        self._listening.close()
        for visitor in self._visitors:
            visitor.close()

    def show_out(self) -> None:
        """Close the connections that have taken too long, and open the door again if it was shut."""
        now = time.monotonic()
        if self._shut_until is not None and now >= self._shut_until:
            self._shut_until = None
            self._selector.register(self._listening, selectors.EVENT_READ, self._let_in)
        for visitor in [visitor for visitor, visit in self._visitors.items() if visit.until < now]:
            self._leave(visitor)

    def _loop(self, selector: selectors.BaseSelector) -> None:
        while True:
            for key, _ in selector.select(LOOK):
                key.data()
            self.show_out()

    def _let_in(self) -> None:
        try:
            visitor, _ = self._listening.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:
            # Too many open files, most likely: who knocks stays there, and would wake the loop again at once.
            self._selector.unregister(self._listening)
            self._shut_until = time.monotonic() + LOOK
            return
        if len(self._visitors) >= MOST_VISITORS:
            visitor.close()
            return
        visitor.setblocking(False)
        self._visitors[visitor] = _Visit()
        self._selector.register(visitor, selectors.EVENT_READ, lambda: self._hear(visitor))

    def _hear(self, visitor: socket.socket) -> None:
        visit = self._visitors[visitor]
        try:
            said = visitor.recv(LONGEST_REQUEST)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        visit.heard += said
        if not said or len(visit.heard) > LONGEST_REQUEST:
            self._leave(visitor)
        elif b"\r\n\r\n" in visit.heard or b"\n\n" in visit.heard:
            visit.reply = reply(visit.heard, self._board.answer)
            self._selector.modify(visitor, selectors.EVENT_WRITE, lambda: self._speak(visitor))

    def _speak(self, visitor: socket.socket) -> None:
        visit = self._visitors[visitor]
        try:
            visit.reply = visit.reply[visitor.send(visit.reply) :]
        except BlockingIOError:
            return
        except OSError:
            visit.reply = b""
        if not visit.reply:
            self._leave(visitor)

    def _leave(self, visitor: socket.socket) -> None:
        self._selector.unregister(visitor)
        del self._visitors[visitor]
        visitor.close()


class _Visit:
    """One connection."""

    def __init__(self) -> None:
        self.heard = self.reply = b""
        self.until = time.monotonic() + LONGEST_VISIT


def reply(request: bytes, answer: Callable[[str], Answer]) -> bytes:
    """Answer a request of HTTP.

    Args:
        request: what was sent, with the empty line that ends its head.
        answer: knows the answer for a path.

    Returns:
        The whole response.
    """
    words = request.split(b"\r\n", 1)[0].split()
    if len(words) < 2 or words[0] not in (b"GET", b"HEAD"):
        said = Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"Only GET and HEAD are answered.\n", TEXT)
    else:
        said = answer(words[1].decode("ascii", "replace"))
    head = (
        f"HTTP/1.1 {said.status.value} {said.status.phrase}\r\n"
        f"Content-Type: {said.kind}\r\nContent-Length: {len(said.body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if words[:1] == [b"HEAD"] else said.body)
