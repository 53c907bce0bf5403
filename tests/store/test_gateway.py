from __future__ import annotations

from typing import Any

import pytest
import redis

from cogworker_django.core.errors import RedisRefused, RedisUnavailable
from cogworker_django.store.store import Store
from tests.stores import open_store
from tests.support import StartServer

PUSH_KEYS = ("t:queue:a", "t:bell:a", "t:queues")


def calls(client: redis.Redis, command: str) -> int:
    """How often a command has run since the statistics were reset."""
    stats: dict[str, Any] = client.info("commandstats")
    return int(stats.get(f"cmdstat_{command}", {}).get("calls", 0))


def test_a_script_is_sent_once_and_then_called_by_its_hash(store: Store, redis_client: redis.Redis) -> None:
    redis_client.script_flush()
    redis_client.config_resetstat()
    for _ in range(3):
        store.gateway.run("push", PUSH_KEYS, ("a", "t:", 60, 60, 1, b"job"))
    assert (calls(redis_client, "eval"), calls(redis_client, "evalsha")) == (1, 3)


def test_after_the_server_forgot_its_scripts_the_call_works_and_the_next_is_by_hash_again(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference R7, case B067."""
    store.gateway.run("push", PUSH_KEYS, ("a", "t:", 60, 60, 1, b"one"))
    redis_client.script_flush()
    redis_client.config_resetstat()
    store.gateway.run("push", PUSH_KEYS, ("a", "t:", 60, 60, 1, b"two"))
    assert calls(redis_client, "eval") == 1
    store.gateway.run("push", PUSH_KEYS, ("a", "t:", 60, 60, 1, b"three"))
    assert calls(redis_client, "eval") == 1
    assert redis_client.lrange("t:queue:a", 0, -1) == [b"three", b"two", b"one"]


def test_a_refusal_inside_the_text_sent_after_a_flush_is_translated_too(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.script_flush()
    redis_client.set("t:queue:a", "no list")
    with pytest.raises(RedisRefused):
        store.gateway.run("push", PUSH_KEYS, ("a", "t:", 60, 60, 1, b"job"))


def test_replies_are_bytes(store: Store) -> None:
    store.gateway.call("SET", "t:x", "ä")
    assert store.gateway.call("GET", "t:x") == "ä".encode()


def test_a_pipeline_answers_in_order(store: Store) -> None:
    assert store.gateway.pipeline([("RPUSH", "t:x", "1"), ("RPUSH", "t:x", "2"), ("LLEN", "t:x")]) == [1, 2, 2]


def test_one_refused_command_of_a_pipeline_raises_after_all_have_run(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:x", "no list")
    with pytest.raises(RedisRefused):
        store.gateway.pipeline([("RPUSH", "t:x", "1"), ("SET", "t:y", "2")])
    assert redis_client.get("t:y") == b"2"


def test_a_server_away_is_told_by_every_way_in(start_server: StartServer) -> None:
    server = start_server()
    store = open_store(server.url)
    server.kill()
    for attempt in (
        lambda: store.gateway.call("PING"),
        lambda: store.gateway.pipeline([("PING",)]),
        lambda: store.gateway.run("push", PUSH_KEYS, ("a", "t:", 60, 60, 1, b"job")),
    ):
        with pytest.raises(RedisUnavailable):
            attempt()
