"""What the scripts of filing and quarantine promise, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store

UNSETTLED, ASIDE, RETRY, COUNTER, BELL = "t:unsettled", "t:aside", "t:retry", "t:orphanings:j", "t:bell"
HELD, NOTHING = "t:held", "t:nothing"


# Filing what was handed over, and setting aside


def file_first(store: Store, record: str) -> int:
    keys = (UNSETTLED, RETRY, COUNTER, BELL, NOTHING)
    return int(store.gateway.run("file_unsettled", keys, (record, "12.5", "entry")))


def set_first_aside(store: Store, record: str, most: int = 2) -> int:
    return int(store.gateway.run("set_aside", (UNSETTLED, ASIDE, NOTHING), (record, 100, most)))


def test_the_first_record_is_filed_and_leaves_the_others(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(UNSETTLED, "a", "b", "a")
    redis_client.set(COUNTER, "1")
    redis_client.rpush(BELL, "1", "1")
    assert [file_first(store, "a"), file_first(store, "a")] == [1, 0]
    assert redis_client.lrange(UNSETTLED, 0, -1) == [b"b", b"a"]
    assert redis_client.zrange(RETRY, 0, -1, withscores=True) == [(b"entry", 12.5)]
    assert not redis_client.exists(COUNTER)
    assert redis_client.llen(BELL) == 3


def test_for_a_record_that_is_not_the_first_nothing_is_written(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(UNSETTLED, "a", "b")
    redis_client.set(COUNTER, "1")
    assert [file_first(store, "b"), set_first_aside(store, "b")] == [0, 0]
    assert set(cast(list[bytes], redis_client.keys("*"))) == {UNSETTLED.encode(), COUNTER.encode()}


@pytest.mark.parametrize("refusing", [RETRY, ASIDE])
def test_a_record_stays_when_what_shall_take_it_refuses(refusing: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(UNSETTLED, "a", "b")
    redis_client.set(refusing, "neither set nor list")
    with pytest.raises(RedisRefused):
        file_first(store, "a") if refusing == RETRY else set_first_aside(store, "a")
    assert redis_client.lrange(UNSETTLED, 0, -1) == [b"a", b"b"]


def test_a_damaged_list_of_records_is_refused(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(UNSETTLED, "no list")
    with pytest.raises(RedisRefused):
        file_first(store, "a")
    with pytest.raises(RedisRefused):
        set_first_aside(store, "a")


def test_unusable_records_are_kept_the_newest_for_a_time(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(UNSETTLED, "a", "b", "c", "d")
    assert [set_first_aside(store, record) for record in "abc"] == [1, 1, 1]
    assert redis_client.lrange(UNSETTLED, 0, -1) == [b"d"]
    assert redis_client.lrange(ASIDE, 0, -1) == [b"b", b"c"]
    assert 90 < redis_client.ttl(ASIDE) <= 100


# Moving damaged keys out of the way


def quarantine(store: Store, expected: str) -> bytes | None:
    reply: bytes | None = store.gateway.run("quarantine", ("t:key", "t:copy", NOTHING), (expected, 100))
    return reply


def restore(store: Store, *pairs: str) -> bytes | None:
    reply: bytes | None = store.gateway.run("restore", (HELD, "t:copy", NOTHING), (100, *pairs))
    return reply


def test_only_a_key_of_the_wrong_type_is_moved_away(store: Store, redis_client: redis.Redis) -> None:
    assert quarantine(store, "list") is None
    redis_client.rpush("t:key", "a")
    assert quarantine(store, "list") is None
    assert set(cast(list[bytes], redis_client.keys("*"))) == {b"t:key"}
    assert quarantine(store, "hash") == b"list"
    assert set(cast(list[bytes], redis_client.keys("*"))) == {b"t:copy"}
    assert redis_client.lrange("t:copy", 0, -1) == [b"a"]
    assert 90 < redis_client.ttl("t:copy") <= 100


def test_a_hash_is_written_anew_only_where_a_damaged_key_is(store: Store, redis_client: redis.Redis) -> None:
    pairs = ("1:q", "a", "2:q", "b", "3:r", "c")
    assert restore(store, *pairs) is None
    assert redis_client.keys("*") == []
    redis_client.hset(HELD, "9:q", "z")
    assert restore(store, *pairs) is None
    assert redis_client.hgetall(HELD) == {b"9:q": b"z"}
    redis_client.delete(HELD)
    redis_client.set(HELD, "no hash")
    assert restore(store, *pairs) == b"string"
    assert redis_client.hgetall(HELD) == {b"1:q": b"a", b"2:q": b"b", b"3:r": b"c"}
    assert redis_client.get("t:copy") == b"no hash"
    assert 90 < redis_client.ttl("t:copy") <= 100
    assert redis_client.ttl(HELD) == -1
