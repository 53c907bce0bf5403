"""Damages the framing of the server's replies, as a faulty network card does that a checksum did not find out.

Only the framing: whatever changes inside a text is a sound reply again, which nobody can tell from the right one.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.scenarios.proxy import Spoil

TEXTS = b"$=!"
"""Types whose length is followed by so many bytes."""
LENGTHS = b"*%~>" + TEXTS
"""Types whose first line is a length, all of which is framing; of others only the type is."""
END = b"\r\n"


def framing(reply: bytes) -> Iterator[int]:
    """The places of the bytes that say where something begins and ends."""
    at = 0
    while (end := reply.find(END, at)) >= 0:
        kind, length = reply[at : at + 1], reply[at + 1 : end]
        yield from range(at, end) if kind in LENGTHS else (at,)
        yield from (end, end + 1)
        at = end + 2
        if kind in TEXTS and length.isdigit():
            at += int(length)
            yield from (at, at + 1)
            at += 2


def garbled(random: Random) -> Spoil:
    """Changes one byte of a reply's framing: a digit to another, anything else to anything."""

    def spoil(reply: bytes) -> bytes:
        at = random.choice([place for place in framing(reply) if place < len(reply)] or [0])
        old = reply[at : at + 1]
        others = b"0123456789" if old.isdigit() else bytes(range(256))
        new = random.choice([bytes([other]) for other in others if other != old[0]])
        return reply[:at] + new + reply[at + 1 :]

    return spoil
