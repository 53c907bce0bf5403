"""Tells a service manager how the worker is: systemd's `Type=notify` and its watchdog, through the plain protocol.

Source: the manual page sd_notify(3): datagrams of `NAME=value` to the socket that `NOTIFY_SOCKET` names.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping

READY, STOPPING, WATCHDOG = "READY=1", "STOPPING=1", "WATCHDOG=1"


class Service:
    """The way to the service manager; without one, every call does nothing.

    Args:
        environ: the process's environment. What is meant for this process is taken out, so that no child of it
            speaks in its name.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        address, usec = environ.pop("NOTIFY_SOCKET", ""), environ.pop("WATCHDOG_USEC", "")
        pid = environ.pop("WATCHDOG_PID", "")
        # An @ stands for the byte 0 of an abstract name.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._said: set[str] = set()
        meant = usec.isdecimal() and pid in ("", str(os.getpid()))
        self.interval = int(usec) / 2_000_000 if meant else None
        """Seconds between two signs of life, half of what the manager allows; None when it watches nothing."""
        self._next = 0.0

    def ready(self) -> None:
        """The worker works; said once."""
        self._once(READY)

    def stopping(self) -> None:
        """It has begun to stop; said once."""
        self._once(STOPPING)

    def alive(self) -> None:
        """Give a sign of life when one is due."""
        now = time.monotonic()
        if self.interval is not None and now >= self._next:
            self._next = now + self.interval
            self._send(WATCHDOG)

    def _once(self, word: str) -> None:
        if word not in self._said:
            self._said.add(word)
            self._send(word)

    def _send(self, word: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
                # A manager that reads nothing must not hold the worker up.
                wire.setblocking(False)
                wire.sendto(word.encode(), self._address)
        except OSError:
            return
