"""The wire between a parent and a child."""

from __future__ import annotations

import contextlib
import socket

import pytest

from cogworker_django.process.condition import Condition, Phase
from cogworker_django.process.link import MOST_BYTES, Full, Leaving, Link, Message, Quiet, Refused, SlotRow, Table, pair

MESSAGES: list[Message] = [
    Condition(pid=1, phase=Phase.QUIET, identity="h:1:a", rss_kb=None),
    Quiet(True),
    Full("it has run 3 jobs"),
    Leaving("drained"),
    Refused("wrong\npassword"),
    Table(7, [SlotRow(0, "running", 12, 3), SlotRow(1, "waiting")]),
]


def test_what_is_said_is_heard_in_order() -> None:
    here, there = pair()
    for message in MESSAGES:
        here.say(message)
    assert there.hear() == MESSAGES
    assert there.hear() == []
    assert not there.broken
    here.close()
    there.close()


def test_last_words_are_heard_before_the_end_is() -> None:
    here, there = pair()
    here.say(Quiet(False))
    here.close()
    assert there.hear() == [Quiet(False)]
    assert there.broken
    there.say(Quiet(True))
    there.close()


def test_who_does_not_listen_holds_nobody_up_and_hears_whole_messages_later() -> None:
    here, there = pair()
    told = Full("x" * 10_000)
    for _ in range(1_000):
        here.say(told)
    heard = there.hear()
    assert 0 < len(heard) < 1_000
    while more := _exchange(here, there):
        heard += more
    assert set(heard) == {told, Quiet(True)}
    here.close()
    there.close()


def _exchange(here: Link, there: Link) -> list[Message]:
    here.say(Quiet(True))
    heard = there.hear()
    return heard if any(isinstance(message, Full) for message in heard) else []


@pytest.mark.parametrize("line", [b"", b"{}", b'{"type":"dance"}', b"\xff", b'{"type":"quiet","quiet":"yes"}'])
def test_what_makes_no_sense_is_passed_over(line: bytes) -> None:
    raw, end = socket.socketpair()
    link = Link(end)
    raw.sendall(line + b'\n{"type":"quiet","quiet":true}\n')
    assert link.hear() == [Quiet(True)]
    raw.close()
    link.close()


def test_noise_without_end_does_not_keep_messages_out() -> None:
    """A program that has got hold of an end writes into it."""
    raw, end = socket.socketpair()
    link = Link(end)
    raw.setblocking(False)
    sent = 0
    while sent < 2 * MOST_BYTES:
        with contextlib.suppress(BlockingIOError):
            sent += raw.send(b"x" * 65_536)
        assert link.hear() == []
    raw.setblocking(True)
    raw.sendall(b'\n{"type":"leaving","reason":"home"}\n{"type":"quiet","quiet":true}\n')
    assert link.hear() == [Quiet(True)]
    raw.close()
    link.close()
