from __future__ import annotations

import gc
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis
from django.utils.functional import SimpleLazyObject

from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.store.connection import close_everything, connect
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.keys import Keys
from tests.support import StartServer


class Listening:
    """Something at the other end of a connection that is no Redis: it hears everything and never answers.

    Args:
        hang_up: end the connection after what was heard, as a server that dies does.
    """

    def __init__(self, hang_up: bool) -> None:
        self.heard = b""
        self.connections = 0
        self._hang_up = hang_up
        self._socket = socket.create_server(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{self._socket.getsockname()[1]}/0"
        self.target = RedisTarget(url=url, options={"protocol": 2})
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                wire, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._hear, args=(wire,), daemon=True).start()

    def _hear(self, wire: socket.socket) -> None:
        with wire, suppress(OSError):
            while received := wire.recv(65536):
                self.heard += received
                # Greetings are answered, so that the command comes; what it is answered with does not matter.
                if b"PUSH" in received and self._hang_up:
                    return
                if b"PUSH" not in received:
                    wire.sendall(b"-ERR unknown command\r\n" * received.count(b"*"))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def dying() -> Iterator[Listening]:
    server = Listening(hang_up=True)
    yield server
    server.close()


@pytest.fixture
def silent() -> Iterator[Listening]:
    server = Listening(hang_up=False)
    yield server
    server.close()


def gateway(target: RedisTarget, *, connections: int = 2, timeout: float = 5.0) -> Gateway:
    return Gateway(connect(target, connections=connections, timeout=timeout), Keys("t:"))


def test_a_command_whose_reply_is_lost_is_not_sent_again(dying: Listening) -> None:
    """A push or a move repeated in silence would double or strand a job."""
    with pytest.raises(RedisUnavailable):
        gateway(dying.target).call("LPUSH", "t:queue:a", "job")
    assert dying.heard.count(b"LPUSH") == 1


def test_a_pipeline_whose_reply_is_lost_is_not_sent_again(dying: Listening) -> None:
    with pytest.raises(RedisUnavailable):
        gateway(dying.target).pipeline([("LPUSH", "t:queue:a", "job")])
    assert dying.heard.count(b"LPUSH") == 1


def test_a_server_that_does_not_answer_is_away_after_the_timeout(silent: Listening) -> None:
    began = time.monotonic()
    with pytest.raises(RedisUnavailable):
        gateway(silent.target, timeout=0.2).call("LPUSH", "t:queue:a", "job")
    assert 0.1 < time.monotonic() - began < 2.0
    assert silent.heard.count(b"LPUSH") == 1


def test_nothing_connects_before_the_first_command(silent: Listening) -> None:
    gateway(silent.target)
    assert silent.connections == 0


def test_replies_stay_bytes_and_limits_stay_ours_whatever_the_projects_options_say(redis_url: str) -> None:
    """Contract 3: the pool, the timeouts and the repeats are ours."""
    options: dict[str, object] = {"client_name": "theirs", "socket_timeout": 99, "retry_on_timeout": False}
    there = gateway(RedisTarget(url=redis_url, options=options), connections=3)
    there.call("SET", "t:x", "ä")
    assert there.call("GET", "t:x") == "ä".encode()
    assert there.call("CLIENT", "GETNAME") == b"theirs"
    pool = there.client.connection_pool
    assert pool.max_connections == 3
    assert pool.connection_kwargs["socket_timeout"] == 5.0
    there.client.close()


def test_no_more_connections_are_opened_than_asked_for(redis_url: str) -> None:
    there = gateway(RedisTarget(url=redis_url, options={"client_name": "mine"}), connections=2)
    threads = [threading.Thread(target=there.call, args=("BLPOP", "t:no", "0.05")) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert there.call("CLIENT", "LIST").count(b" name=mine ") == 2
    there.client.close()


def test_host_port_database_and_password_lead_there(start_server: StartServer) -> None:
    server = start_server("--requirepass", "secret pass")
    target = RedisTarget(host="127.0.0.1", port=server.port, db=3, password="secret pass")
    there = gateway(target)
    there.call("SET", "t:x", "1")
    assert b" db=3 " in there.call("CLIENT", "INFO")
    there.client.close()


def test_a_unix_socket_leads_there(start_server: StartServer) -> None:
    server = start_server("--unixsocket", "wire.sock")
    there = gateway(RedisTarget(url=f"unix://{server.directory}/wire.sock"))
    assert there.call("ECHO", "hello") == b"hello"
    there.client.close()


def test_everything_is_closed_whatever_else_is_in_memory(redis_url: str) -> None:
    """B080: nothing is asked what it is that would do something about it; what is frozen later is still known."""

    def never() -> None:
        raise AssertionError("made by looking at it")

    class Gone:
        pass

    gone = Gone()
    odd = [weakref.proxy(gone), SimpleLazyObject(never)]
    del gone
    client = redis.Redis.from_url(redis_url)
    client.ping()
    close_everything()
    sockets = [connection._sock for connection in client.connection_pool._available_connections]
    assert sockets == [None]
    gc.freeze()
    try:
        client.ping()
        close_everything()
    finally:
        gc.unfreeze()
    assert [connection._sock for connection in client.connection_pool._available_connections] == [None]
    assert client.ping()
    client.close()
    assert len(odd) == 2
