"""Health over HTTP: whoever asks, and however badly, nobody waits."""

from __future__ import annotations

import contextlib
import http.client
import resource
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from cogworker_django.core.address import Address
from cogworker_django.embedded import free_port
from cogworker_django.process import door as room
from cogworker_django.process.board import Board
from cogworker_django.process.door import Door, reply
from tests.scenarios.waiting import eventually


@pytest.fixture
def address() -> Address:
    return Address("127.0.0.1", free_port())


@pytest.fixture
def door(address: Address) -> Iterator[Door]:
    """A door that a loop of its own watches until the test has ended."""
    made, selector, over = Door(address, Board()), selectors.PollSelector(), threading.Event()
    made.open(selector)

    def loop() -> None:
        while not over.is_set():
            for key, _ in selector.select(0.02):
                key.data()
            made.show_out()

    thread = threading.Thread(target=loop)
    thread.start()
    yield made
    over.set()
    thread.join()
    made.close()


def ask(address: Address, method: str = "GET", path: str = "/livez") -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection(address.host, address.port, timeout=5)) as wire:
        wire.request(method, path)
        response = wire.getresponse()
        return response.status, response.read()


def answers(address: Address) -> bool:
    try:
        return ask(address)[0] == 200
    except ConnectionError:
        return False


@pytest.mark.usefixtures("door")
def test_it_answers_one_after_the_other(address: Address) -> None:
    assert [ask(address) for _ in range(3)] == [(200, b'{"ok":true}\n')] * 3
    assert ask(address, path="/readyz")[0] == 503
    assert ask(address, path="/nowhere")[0] == 404
    assert ask(address, "POST")[0] == 405
    assert ask(address, "HEAD") == (200, b"")


@pytest.mark.usefixtures("door")
def test_who_says_nothing_holds_nobody_up_and_is_shown_out(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LONGEST_VISIT", 0.1)
    with socket.create_connection((address.host, address.port), 5) as silent:
        silent.sendall(b"GET /livez")
        assert ask(address)[0] == 200
        assert silent.recv(1) == b""


@pytest.mark.usefixtures("door")
def test_a_request_without_end_is_cut_off(address: Address) -> None:
    with socket.create_connection((address.host, address.port), 5) as wire, contextlib.suppress(ConnectionError):
        wire.sendall(b"GET /" + b"x" * 3 * room.LONGEST_REQUEST)
        assert wire.recv(1) == b""
    assert ask(address)[0] == 200


@pytest.mark.usefixtures("door")
def test_a_crowd_is_sent_away_and_the_door_stays_open(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_VISITORS", 2)
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection((address.host, address.port), 5)) for _ in range(3)]
        assert crowd[2].recv(1) == b""
    eventually(lambda: answers(address), 5, "an answer once the crowd has gone")


@pytest.mark.usefixtures("door")
def test_an_address_that_is_taken_is_refused(address: Address) -> None:
    with pytest.raises(OSError, match="in use"):
        Door(address, Board())


@pytest.mark.parametrize("request_line", [b"", b"GET", b"\xff\xfe", b"BREW /pot HTTP/1.0"])
def test_what_is_no_request_gets_an_answer(request_line: bytes) -> None:
    answer = reply(request_line + b"\r\n\r\n", Board().answer)
    assert answer.startswith(b"HTTP/1.1 405 ")


def test_a_path_that_is_no_text_is_not_found() -> None:
    assert reply(b"GET /\xff\xff HTTP/1.1\r\n\r\n", Board().answer).startswith(b"HTTP/1.1 404 ")


def test_without_a_free_descriptor_the_loop_rests_and_the_door_opens_again(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LOOK", 0.1)
    made, selector = Door(address, Board()), selectors.PollSelector()
    made.open(selector)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_connection((address.host, address.port), 5) as visitor:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
        try:
            [(key, _)] = selector.select(5)
            key.data()
            assert selector.select(0) == [], "it would be woken at once, again and again"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

        def is_open() -> bool:
            made.show_out()
            return bool(selector.select(0))

        eventually(is_open, 5, "the door to be open")
        visitor.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        for _ in range(3):
            for key, _ in selector.select(5):
                key.data()
        assert visitor.recv(100).startswith(b"HTTP/1.1 200 ")
    made.close()


def test_what_is_forked_does_not_keep_the_address(address: Address) -> None:
    script = f"""
import os
from cogworker_django.core.address import Address
from cogworker_django.process.board import Board
from cogworker_django.process.door import Door
Door(Address("{address.host}", {address.port}), Board()).serve()
if os.fork() == 0:
    print(os.getpid(), flush=True)
    input()
    os._exit(0)
os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        assert worker.stdout.readline().strip().isdigit()
        eventually(lambda: worker.poll() == 0, 10, "the worker to be gone")
        Door(address, Board()).close()
