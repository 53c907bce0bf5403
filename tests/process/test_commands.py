"""Signals become commands of the main thread."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from cogworker_django.process import commands as told
from cogworker_django.process import title
from cogworker_django.process.commands import SIGNALS, Commands
from cogworker_django.process.condition import Condition, Phase


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "command"), SIGNALS.items())
def test_each_signal_is_a_command(number: signal.Signals, command: str) -> None:
    commands = Commands()
    commands.listen()
    os.kill(os.getpid(), number)
    assert commands.get(1.0) == command
    assert commands.get() is None


def test_with_a_log_file_a_hangup_means_to_open_it_anew() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    commands = Commands(told.REOPEN)
    commands.listen()
    os.kill(os.getpid(), signal.SIGHUP)
    assert commands.get(1.0) == told.REOPEN


def test_below_nohup_a_hangup_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Commands().listen()
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_at_the_end_no_signal_does_anything() -> None:
    commands = Commands()
    commands.listen()
    commands.ignore()
    os.kill(os.getpid(), signal.SIGTERM)
    assert commands.get() is None


@pytest.mark.parametrize("early", [False, True], ids=["given back", "before they are given back"])
def test_in_a_fork_a_signal_does_what_it_did_before(early: bool) -> None:
    commands = Commands()
    commands.listen()
    handler = signal.getsignal(signal.SIGTERM)
    pid = os.fork()
    if pid == 0:
        if early:
            signal.signal(signal.SIGTERM, handler)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
    assert commands.get() is None
    os.kill(os.getpid(), signal.SIGTERM)
    assert commands.get(1.0) == told.STOP, "the process itself goes on listening"


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        (Phase.BOOTING, "waiting for Redis"),
        (Phase.WORKING, "2 of 5 busy"),
        (Phase.QUIET, "2 of 5 busy, quiet"),
        (Phase.STOPPING, "2 of 5 busy, stopping"),
    ],
)
def test_a_title_says_what_the_process_does(phase: Phase, text: str) -> None:
    assert title.of(Condition(pid=1, phase=phase, busy=2, concurrency=5)) == text
