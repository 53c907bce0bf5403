"""What a service manager hears: sd_notify(3)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogworker_django.process.service import Service


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """The socket of a manager, and how it is told of."""
    name = str(tmp_path / "notify") if request.param == "file" else f"@cogworker-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(name.replace("@", "\0", 1))
        heard.settimeout(5)
        yield heard, name


def test_ready_and_stopping_are_said_once(manager: tuple[socket.socket, str]) -> None:
    heard, name = manager
    service = Service({"NOTIFY_SOCKET": name})
    for _ in range(2):
        service.ready()
        service.stopping()
    service.alive()
    assert [heard.recv(100), heard.recv(100)] == [b"READY=1", b"STOPPING=1"]
    heard.setblocking(False)
    with pytest.raises(BlockingIOError):
        heard.recv(100)


def test_a_watchdog_gets_a_sign_twice_in_its_time(manager: tuple[socket.socket, str]) -> None:
    heard, name = manager
    service = Service({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": str(os.getpid())})
    assert service.interval == 0.05
    service.alive()
    assert heard.recv(100) == b"WATCHDOG=1"
    heard.setblocking(False)
    service.alive()
    with pytest.raises(BlockingIOError):
        heard.recv(100)


def test_nothing_of_it_is_left_for_the_programs_that_jobs_start() -> None:
    environ = {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "HOME": "/"}
    assert Service(environ).interval is None, "it is meant for another process"
    assert environ == {"HOME": "/"}


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": "/nowhere/at/all"}, {"WATCHDOG_USEC": "soon"}])
def test_without_a_manager_nothing_happens(environ: dict[str, str]) -> None:
    service = Service(environ)
    service.ready()
    service.alive()
    service.stopping()
    assert service.interval is None
