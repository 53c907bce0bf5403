"""What the scripts promise about history and status, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
import redis

from cogworker_django.core.config import HistoryConfig, StatusConfig
from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.record import Record
from cogworker_django.store.settlement import Command, Settlement
from cogworker_django.store.store import Store
from tests.stores import open_store, raw_job
from tests.trips import IN_PROGRESS, Traveller

LIST = "t:history:all"
DAY = 86_400


def listed(client: redis.Redis, name: str) -> list[bytes]:
    return cast(list[bytes], client.lrange(f"t:history:{name}", 0, -1))


# Searching


def search(store: Store, start: int, number: int, size: int, text: str) -> tuple[int, list[bytes]]:
    position, *found = store.gateway.run("search_history", (LIST,), (start, number, size, text))
    return position, found


def test_only_what_contains_the_text_as_it_is_written_is_found(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(LIST, "a.c", "abc", "xa.c")
    assert search(store, 0, 10, 1000, "a.c") == (0, [b"a.c", b"xa.c"])
    assert search(store, 1, 10, 1000, "a.c") == (0, [b"xa.c"])


@pytest.mark.parametrize(
    ("start", "number", "size", "end"),
    [
        *((0, 1, 9999, 100), (0, 100, 9999, 100), (0, 101, 9999, 200), (0, 200, 9999, 200), (50, 100, 9999, 150)),
        *((0, 9999, 1, 100), (0, 9999, 400, 100), (0, 9999, 401, 200), (0, 201, 9999, 0), (200, 1, 9999, 0)),
    ],
)
def test_a_search_looks_at_hundreds_until_it_has_looked_at_enough(
    start: int, number: int, size: int, end: int, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.rpush(LIST, *[f"e{place:03}" for place in range(250)])
    expected = [f"e{place:03}".encode() for place in range(start, end or 250)]
    assert search(store, start, number, size, "e") == (end, expected)


# Trimming


def trim(store: Store, number: int, retention: int = DAY) -> int:
    return int(store.gateway.run("trim_history", (LIST,), (retention, number)))


def old(client: redis.Redis, number: int, ago: float = DAY + 9) -> None:
    finished = client.time()[0] - ago
    client.rpush(LIST, *[json.dumps({"finished_at": finished}, separators=(",", ":"))] * number)


@pytest.mark.parametrize(("number", "gone"), [(0, 0), (1, 1), (49, 49), (50, 50), (51, 51), (100, 100), (130, 120)])
def test_no_more_is_trimmed_than_was_asked_for(number: int, gone: int, store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(LIST, "newest")
    old(redis_client, 5, ago=DAY - 9)
    old(redis_client, 120)
    assert trim(store, number) == gone
    assert redis_client.llen(LIST) == 126 - gone


@pytest.mark.parametrize("script", ["search", "trim"])
def test_a_damaged_history_is_refused(script: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(LIST, "no list")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        trim(store, 9) if script == "trim" else search(store, 0, 9, 9, "a")
    assert redis_client.get(LIST) == b"no list"


# What a trip tells


@pytest.fixture
def told(redis_url: str) -> Any:
    store = open_store(redis_url, status=StatusConfig(expiration=60), history=HistoryConfig(max_entries=3))
    yield store
    store.close()


def hold(client: redis.Redis, *tokens: str) -> None:
    client.hset(IN_PROGRESS, mapping=dict.fromkeys(tokens, raw_job()))


def run(number: int, kind: str = "processed", *essential: Command, plain: bool = False, **record: str) -> Settlement:
    fields: dict[str, Any] = {"status": f"s{number}", "entry": f"e{number}"} | record
    return Settlement(
        plain=plain,
        token=f"{number}:q",
        jid=f"j{number}",
        kind=kind,
        essential=list(essential),
        record=Record(f"j{number}", **fields),
    )


@pytest.mark.parametrize("plain", [True, False])
def test_each_run_is_told_in_its_lists_the_latest_first(plain: bool, told: Store, redis_client: redis.Redis) -> None:
    hold(redis_client, "1:q", "2:q", "3:q", "5:q")
    verdicts = [run(1, plain=plain), run(2, "failed"), run(3, plain=plain), run(4, plain=plain)]
    verdicts.append(run(5, status="", entry="", plain=plain))
    assert Traveller(told).go(verdicts=verdicts).results == ["settled", "settled", "settled", "gone", "settled"]
    assert listed(redis_client, "all") == [b"e3", b"e2", b"e1"]
    assert listed(redis_client, "success") == [b"e3", b"e1"]
    assert listed(redis_client, "failed") == [b"e2"]
    assert redis_client.mget("t:status:j1", "t:status:j2", "t:status:j3") == [b"s1", b"s2", b"s3"]
    assert redis_client.exists("t:status:j4", "t:status:j5") == 0
    assert (redis_client.get("t:stats:processed"), redis_client.get("t:stats:failed")) == (b"3", b"1")
    assert 50_000 < redis_client.pttl("t:status:j1") <= 60_000


@pytest.mark.parametrize("plain", [True, False])
def test_of_a_damaged_hash_no_run_is_told(plain: bool, told: Store, redis_client: redis.Redis) -> None:
    redis_client.set(IN_PROGRESS, "no hash")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        Traveller(told).go(verdicts=[run(1, plain=plain)])
    assert redis_client.exists("t:status:j1", LIST, "t:stats:processed") == 0


def test_of_each_list_only_so_many_are_kept(told: Store, redis_client: redis.Redis) -> None:
    hold(redis_client, *[f"{number}:q" for number in range(1, 6)])
    process = Traveller(told)
    process.go(verdicts=[run(1), run(2)])
    process.go(verdicts=[run(3), run(4)])
    assert listed(redis_client, "all") == listed(redis_client, "success") == [b"e4", b"e3", b"e2"]
    process.go(verdicts=[run(5, "failed")])
    assert listed(redis_client, "all") == [b"e5", b"e4", b"e3"]
    assert listed(redis_client, "success") == [b"e4", b"e3", b"e2"]


def test_a_run_whose_writes_fail_is_not_told(told: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:retry", "no set")
    hold(redis_client, "1:q")
    [result] = Traveller(told).go(verdicts=[run(1, "failed", ["ZADD", "t:retry", "5", "entry"])]).results
    assert result.startswith("WRONGTYPE")
    assert redis_client.exists("t:status:j1", LIST, "t:history:failed") == 0


@pytest.mark.parametrize("reliable", [True, False])
def test_what_runs_is_followed_while_it_is_the_processes_own(
    reliable: bool, told: Store, redis_client: redis.Redis
) -> None:
    hold(redis_client, "1:q")
    Traveller(told, reliable=reliable).go(notes=[("1:q", "a", "half"), ("2:q", "b", "half")])
    assert redis_client.mget("t:status:a", "t:status:b") == [b"half", None if reliable else b"half"]
    assert 50_000 < redis_client.pttl("t:status:a") <= 60_000


def test_what_runs_is_not_followed_when_the_hash_is_damaged(told: Store, redis_client: redis.Redis) -> None:
    redis_client.set(IN_PROGRESS, "no hash")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        Traveller(told).go(notes=[("1:q", "a", "half")])
    assert not redis_client.exists("t:status:a")


def test_the_end_of_a_run_is_told_after_what_it_told_itself(told: Store, redis_client: redis.Redis) -> None:
    hold(redis_client, "1:q")
    Traveller(told).go(notes=[("1:q", "j1", "half")], verdicts=[run(1)])
    assert redis_client.get("t:status:j1") == b"s1"


def test_damaged_lists_of_the_history_stop_no_verdict(told: Store, redis_client: redis.Redis) -> None:
    for name in ("all", "success"):
        redis_client.set(f"t:history:{name}", "no list")
    hold(redis_client, "1:q", "2:q")
    assert Traveller(told).go(verdicts=[run(1), run(2, "failed")]).results == ["settled", "settled"]
    assert listed(redis_client, "failed") == [b"e2"]
    assert redis_client.hlen(IN_PROGRESS) == 0
