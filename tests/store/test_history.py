"""Trims and searches of the history (reference 19, group H)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from cogworker_django.store.history import SEARCHED_AT_ONCE, RunHistory
from cogworker_django.store.store import Store
from tests.stores import open_store
from tests.support import StartServer

DAY = 86_400


def history(store: Store, retention: float = 10.0 * DAY) -> RunHistory:
    return RunHistory(store.gateway, max_entries=100_000, retention=retention, daily_retention=DAY)


def entry(number: int, ago: float = 0.0, now: float = 0.0) -> bytes:
    return json.dumps({"jid": f"{number:024}", "finished_at": now - ago}, separators=(",", ":")).encode()


def filled(client: redis.Redis, name: str, agos: list[float]) -> None:
    """Puts entries of these ages, in seconds, into a list; the first is the newest."""
    now = client.time()[0]
    client.rpush(f"t:history:{name}", *(entry(number, ago, now) for number, ago in enumerate(agos)))


@pytest.mark.parametrize("old", [0, 1, 49, 50, 51, 1_000, 1_001, 2_500])
def test_what_is_too_old_goes_whatever_the_number(old: int, store: Store, redis_client: redis.Redis) -> None:
    """Case H6."""
    filled(redis_client, "all", [0.0, DAY, 9.9 * DAY, *[10.1 * DAY] * old])
    filled(redis_client, "failed", [11.0 * DAY])
    assert history(store).trim() == old + 1
    assert redis_client.llen("t:history:all") == 3
    assert not redis_client.exists("t:history:failed")


def test_what_cannot_be_read_goes_with_what_is_too_old(store: Store, redis_client: redis.Redis) -> None:
    filled(redis_client, "all", [0.0])
    redis_client.rpush("t:history:all", "no json", b"\xff", '{"finished_at":"x"}')
    assert history(store).trim() == 3
    assert redis_client.llen("t:history:all") == 1


@pytest.mark.parametrize("place", [0, 99, 100, SEARCHED_AT_ONCE - 1, SEARCHED_AT_ONCE, 2 * SEARCHED_AT_ONCE + 150])
def test_a_search_looks_at_every_entry(place: int, store: Store, redis_client: redis.Redis) -> None:
    filled(redis_client, "all", [1.0] * (2 * SEARCHED_AT_ONCE + 151))
    jid = f"{place:024}"
    [found] = history(store).search("all", jid)
    assert found["jid"] == jid
    assert history(store).search("all", "0" * 23 + "x") == []


def test_a_search_takes_only_the_jobs_own_entries(store: Store, redis_client: redis.Redis) -> None:
    """Another job may have its id among its arguments."""
    redis_client.rpush(
        "t:history:all", '{"jid":"b","args":[{"jid":"a"}]}', '{"jid":"a","n":1}', "[]", '{"jid":"a","n":2}'
    )
    assert [found["n"] for found in history(store).search("all", "a")] == [1, 2]


def test_no_call_of_a_search_is_long(store: Store, redis_client: redis.Redis) -> None:
    """Fifty thousand entries, as many as are kept."""
    filled(redis_client, "all", [1.0] * 50_000)
    redis_client.config_resetstat()
    assert history(store).search("all", "x") == []
    stats: Any = redis_client.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] >= 25


def test_a_full_server_lets_the_history_be_trimmed(start_server: StartServer) -> None:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    filled(store.client, "all", [0.0, 99.0 * DAY])
    store.client.config_set("maxmemory", 1)
    assert history(store).trim() == 1
    store.client.close()
