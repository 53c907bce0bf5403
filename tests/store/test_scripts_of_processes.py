"""What the scripts of processes promise, to the letter: each test fails for a small slip in the Lua."""

from __future__ import annotations

import re
import time

import pytest
import redis

from cogworker_django.store.store import Store

BEATS, PROCESS, SIGNALS, NOTHING, HELD, WORK = "t:beats", "t:process", "t:signals", "t:nothing", "t:held", "t:work"
LEAVING = (HELD, BEATS, PROCESS, WORK, SIGNALS)


def test_commands_are_kept_in_order_the_newest_ones_for_a_time(store: Store, redis_client: redis.Redis) -> None:
    for number, command in enumerate(("quiet", "resume", "stop"), start=1):
        assert store.gateway.run("signal", (SIGNALS,), (command, 100, 2)) == min(number, 2)
    assert redis_client.lrange(SIGNALS, 0, -1) == [b"resume", b"stop"]
    assert 90 < redis_client.ttl(SIGNALS) <= 100


def beat(store: Store, read: int) -> list[bytes]:
    reply: list[bytes] = store.gateway.run("beat", (BEATS, PROCESS, SIGNALS, NOTHING), ("me", "7 10", "{}", 5000, read))
    return reply


def test_a_beat_is_stamped_by_the_server_and_tells_about_the_process(store: Store, redis_client: redis.Redis) -> None:
    [now] = beat(store, 1)
    assert re.fullmatch(rb"\d+\.\d{6}", now)
    assert abs(float(now) - time.time()) < 5
    assert redis_client.hgetall(BEATS) == {b"me": now + b" 7 10"}
    assert redis_client.get(PROCESS) == b"{}"
    assert 4000 < redis_client.pttl(PROCESS) <= 5000


def test_the_microseconds_of_a_stamp_have_their_noughts(store: Store) -> None:
    """Else a beat at 5.000012 s would be read as one at 5.12 s: here some of a thousand stamps begin with a nought."""
    stamps = [float(beat(store, 0)[0]) for _ in range(1000)]
    assert stamps == sorted(stamps)


def test_a_beat_reads_all_commands_once(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(SIGNALS, "quiet", "stop")
    assert beat(store, 1)[1:] == [b"quiet", b"stop"]
    assert beat(store, 1)[1:] == []
    assert not redis_client.exists(SIGNALS)


def test_a_process_that_waits_for_its_commands_elsewhere_does_not_read_them(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.rpush(SIGNALS, "quiet")
    assert len(beat(store, 0)) == 1
    assert redis_client.llen(SIGNALS) == 1


@pytest.mark.parametrize("damaged", [BEATS, SIGNALS])
def test_a_damaged_registry_or_damaged_commands_stop_no_beat(
    damaged: str, store: Store, redis_client: redis.Redis
) -> None:
    redis_client.set(damaged, "neither hash nor list")
    assert len(beat(store, 1)) == 1
    assert redis_client.get(PROCESS) == b"{}"


def test_work_is_published_for_a_time(store: Store, redis_client: redis.Redis) -> None:
    store.gateway.run("publish_work", (WORK, NOTHING), ("[]", 5000))
    assert redis_client.get(WORK) == b"[]"
    assert 4000 < redis_client.pttl(WORK) <= 5000


def there(client: redis.Redis) -> None:
    client.hset(BEATS, mapping={"me": "1", "other": "2"})
    for key in (PROCESS, WORK, "t:else"):
        client.set(key, "1")
    client.rpush(SIGNALS, "stop")


def test_who_leaves_with_nothing_unsettled_leaves_nothing(store: Store, redis_client: redis.Redis) -> None:
    there(redis_client)
    assert store.gateway.run("forget", LEAVING, ("me",)) == 1
    assert set(redis_client.keys("*")) == {BEATS.encode(), b"t:else"}
    assert redis_client.hkeys(BEATS) == [b"other"]


def test_who_leaves_unsettled_jobs_stays_registered_for_recovery(store: Store, redis_client: redis.Redis) -> None:
    there(redis_client)
    redis_client.hset(HELD, "1:q", "a")
    assert store.gateway.run("forget", LEAVING, ("me",)) == 0
    assert set(redis_client.keys("*")) == {BEATS.encode(), HELD.encode(), b"t:else"}
    assert redis_client.hexists(BEATS, "me")


def test_a_damaged_registry_lets_everybody_leave(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(BEATS, "no hash")
    redis_client.set(PROCESS, "1")
    assert store.gateway.run("forget", LEAVING, ("me",)) == 1
    assert not redis_client.exists(PROCESS)
