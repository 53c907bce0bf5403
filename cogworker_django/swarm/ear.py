"""Has signals end a wait in a selector."""

from __future__ import annotations

import selectors
import signal
import socket


class Ear:
    """A pair of sockets: Python writes into one when a signal comes, and the selector watches the other."""

    def __init__(self) -> None:
        self._ear, self._mouth = socket.socketpair()
        for end in (self._ear, self._mouth):
            end.setblocking(False)

    def open(self, selector: selectors.BaseSelector) -> None:
        """Begin to hear; on the main thread. What the selector holds has, as its data, what to call."""
        selector.register(self._ear, selectors.EVENT_READ, lambda: self._ear.recv(4096))
        signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        # A child's end is to be heard too, and nothing else is done about it here.
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def close(self) -> None:
        """Hear no more; in a fork, which has given up the signals, too."""
        signal.set_wakeup_fd(-1)
        self._ear.close()
        self._mouth.close()
