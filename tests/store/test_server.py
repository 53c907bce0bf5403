from __future__ import annotations

import pytest

from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.server import Server
from cogworker_django.store.store import Store
from tests.stores import open_store
from tests.support import StartServer


class Telling(Gateway):
    """The real server, but for what its INFO says."""

    info: dict[str, object]

    def call(self, *command: Arg, **options: object) -> object:
        return self.info if command[0] == "INFO" else super().call(*command, **options)


@pytest.mark.parametrize(
    ("version", "reliable"),
    [
        ("6.0.16", False),
        ("6.1.99", False),
        ("6.2.0", True),
        ("6.2", True),
        ("7.0.15", True),
        ("10.0.1", True),
        ("5.0.7", False),
        ("unknown", True),
        (None, True),
    ],
)
def test_support_for_reliable_fetch_follows_the_version(version: str | None, reliable: bool, store: Store) -> None:
    """Reference R46; an odd version is taken for a current one."""
    gateway = Telling(store.client, store.keys)
    gateway.info = {} if version is None else {"redis_version": version}
    assert Server(gateway).supports_reliable() is reliable


def test_the_tests_own_server_supports_it(store: Store) -> None:
    assert store.server.supports_reliable()


def test_nothing_is_decided_while_the_server_is_away(start_server: StartServer) -> None:
    """Reference R45."""
    server = start_server()
    store = open_store(server.url)
    server.kill()
    with pytest.raises(RedisUnavailable):
        store.server.supports_reliable()


def test_a_server_that_may_not_be_asked_is_taken_for_a_current_one(start_server: StartServer) -> None:
    """Reference 8, case B069: INFO may be forbidden by an ACL."""
    server = start_server()
    admin = open_store(server.url)
    admin.client.execute_command("ACL", "SETUSER", "worker", "on", ">pw", "~*", "&*", "+@all", "-info")
    store = open_store(server.url.replace("redis://", "redis://worker:pw@"))
    assert store.server.supports_reliable()
    assert store.server.life() is None
    assert store.server.eviction_policy() is None
    assert store.server.is_persistent() is None
    store.client.close()
    admin.client.close()


def test_a_restarted_server_tells_of_another_life(start_server: StartServer) -> None:
    server = start_server()
    store = open_store(server.url)
    first = store.server.life()
    again = store.server.life()
    server.kill()
    server.start()
    second = store.server.life()
    assert first is not None
    assert again is not None
    assert second is not None
    assert first.run_id == again.run_id != second.run_id
    assert 0 <= first.uptime < 60
    store.client.close()


@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
def test_the_eviction_policy_is_read(policy: str, start_server: StartServer) -> None:
    """Case B069."""
    store = open_store(start_server("--maxmemory-policy", policy).url)
    assert store.server.eviction_policy() == policy
    store.client.close()


@pytest.mark.parametrize(
    ("told", "persistent"), [({"aof_enabled": 1}, True), ({"aof_enabled": "0"}, False), ({}, None)]
)
def test_a_server_tells_whether_it_is_persistent(
    told: dict[str, object], persistent: bool | None, store: Store
) -> None:
    gateway = Telling(store.client, store.keys)
    gateway.info = told
    assert Server(gateway).is_persistent() is persistent
