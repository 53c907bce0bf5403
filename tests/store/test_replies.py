from __future__ import annotations

import pytest
import redis

from cogworker_django.core.errors import RedisRefused, RedisUnavailable
from cogworker_django.store import replies
from cogworker_django.store.store import Store
from tests.stores import open_store
from tests.support import StartServer


def test_each_command_has_its_own_reply_or_error(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("text", "x")
    got = replies.each(store.gateway, [("GET", "text"), ("LLEN", "text"), ("LLEN", "nothing")])
    assert got[0] == b"x"
    assert isinstance(got[1], RedisRefused)
    assert got[2] == 0
    assert [replies.or_else(reply, "instead") for reply in got] == [b"x", "instead", 0]


def test_a_server_that_is_away_raises(start_server: StartServer) -> None:
    server = start_server()
    store = open_store(server.url)
    server.kill()
    with pytest.raises(RedisUnavailable):
        replies.each(store.gateway, [("PING",)])


def test_a_read_only_replica_raises_too(start_server: StartServer) -> None:
    store = open_store(start_server().url)
    store.client.execute_command("REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(RedisUnavailable, match="read only replica"):
        replies.each(store.gateway, [("SET", "a", "b")])
    store.client.close()


def test_time_is_read_to_the_microsecond() -> None:
    assert replies.seconds([b"1700000000", b"250000"]) == 1_700_000_000.25
    assert replies.seconds((1_700_000_000, 250_000)) == 1_700_000_000.25
