"""What the scripts of recovery promise, to the letter: each test fails for a small slip."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store
from tests.stores import raw_job

HELD, BEATS, PROCESS, ORPHANED, QUEUES, NOTHING = (
    "t:held",
    "t:beats",
    "t:process",
    "t:orphaned",
    "t:queues",
    "t:nothing",
)
SIGNALS, DEAD, FAILED = "t:signals:me", "t:dead", "t:stats:failed"
DAY = 86_400


def jid(number: int) -> str:
    return f"{number:024}"


def job(number: int) -> bytes:
    return raw_job(jid(number))


def recover(store: Store, *tokens: str, border: int = 100, most: int = 3, threshold: float = 300) -> list[Any] | None:
    args: tuple[Any, ...] = ("t:", "me", threshold, most, 1000, 500, border, 60, *tokens)
    reply: list[Any] | None = store.gateway.run("recover", (HELD, BEATS, PROCESS, ORPHANED, QUEUES, NOTHING), args)
    return reply


def bury(store: Store, token: str, *, most: int = 10, age: int = DAY) -> int:
    args = ("t:", "me", 300, token, "entry", most, age, 600)
    return int(store.gateway.run("bury_orphan", (HELD, BEATS, PROCESS, DEAD, FAILED, NOTHING), args))


def counter(client: redis.Redis, number: int) -> bytes | None:
    return cast(bytes | None, client.get(f"t:orphanings:{jid(number)}"))


def beaten(client: redis.Redis, ago: float, identity: str = "me") -> None:
    seconds, microseconds = client.time()
    client.hset(BEATS, identity, f"{seconds + microseconds / 1e6 - ago:.6f} 5 10")


# Whether it is dead


@pytest.mark.parametrize(("ago", "dead"), [(295, False), (302, True), (-295, False)])
def test_a_process_is_dead_once_it_has_not_beaten_for_the_threshold(
    ago: float, dead: bool, store: Store, redis_client: redis.Redis
) -> None:
    beaten(redis_client, ago)
    redis_client.hset(HELD, "1:q", job(1))
    assert (recover(store, "1:q") is not None) is dead
    assert redis_client.hexists(BEATS, "me") is not dead
    assert redis_client.exists(HELD) == (not dead)


def test_the_fraction_of_a_second_counts_towards_the_threshold(store: Store, redis_client: redis.Redis) -> None:
    while not 500_000 < redis_client.time()[1] < 900_000:
        time.sleep(0.02)
    beaten(redis_client, 300.2)
    assert recover(store) is not None


@pytest.mark.parametrize("beat", ["no stamp", "", None])
@pytest.mark.parametrize("present", [True, False])
def test_without_a_stamp_its_presence_decides(
    beat: str | None, present: bool, store: Store, redis_client: redis.Redis
) -> None:
    if beat is not None:
        redis_client.hset(BEATS, "me", beat)
    if present:
        redis_client.set(PROCESS, "{}")
    redis_client.hset(HELD, "1:q", job(1))
    assert (recover(store, "1:q") is None) is present
    redis_client.hset(HELD, "1:q", job(1))
    assert (bury(store, "1:q") == 0) is present


def test_a_process_that_lives_loses_nothing(store: Store, redis_client: redis.Redis) -> None:
    beaten(redis_client, 0)
    redis_client.hset(HELD, "1:q", job(1))
    redis_client.rpush(SIGNALS, "stop")
    assert recover(store, "1:q") is None
    assert bury(store, "1:q") == 0
    assert set(cast(list[bytes], redis_client.keys("*"))) == {key.encode() for key in (BEATS, HELD, SIGNALS)}


# Taking back


def test_jobs_go_back_to_the_front_of_their_queues(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={"12:q": job(12), "3:q": job(3), "2:odd:name": job(2), "1:q": job(1)})
    redis_client.rpush("t:queue:q", "z")
    redis_client.sadd(QUEUES, "other")
    reply = recover(store, "12:q", "9:q", "3:q", "2:odd:name")
    assert reply is not None
    assert (reply[:2], sorted(reply[2]), reply[3]) == ([3, 0], [b"odd:name", b"q"], [])
    assert redis_client.lrange("t:queue:q", 0, -1) == [b"z", job(12), job(3)]
    assert redis_client.lrange("t:queue:odd:name", 0, -1) == [job(2)]
    assert redis_client.hkeys(HELD) == [b"1:q"]
    assert redis_client.smembers(QUEUES) == {b"other", b"q", b"odd:name"}
    assert (redis_client.llen("t:bell:q"), redis_client.llen("t:bell:odd:name")) == (2, 1)
    assert (redis_client.get("t:careful:q"), redis_client.get("t:careful:odd:name")) == (b"2", b"1")
    assert 490 < redis_client.ttl("t:careful:q") <= 500
    assert redis_client.get(ORPHANED) == b"1"
    assert 990 < redis_client.ttl(ORPHANED) <= 1000


def test_care_adds_up_over_several_calls(store: Store, redis_client: redis.Redis) -> None:
    for number in (1, 2):
        redis_client.hset(HELD, f"{number}:q", job(number))
        recover(store, f"{number}:q")
    assert redis_client.get("t:careful:q") == b"2"


def test_what_is_no_token_is_not_touched(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={"1:q": job(1), "60": "called as the time that locks last"})
    assert recover(store, "1:q") == [1, 0, [b"q"], []]
    assert redis_client.hkeys(HELD) == [b"60"]


def test_only_tokens_up_to_the_border_count_an_orphaning(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={f"{number}:q": job(number) for number in (1, 2, 3)})
    redis_client.set(f"t:orphanings:{jid(1)}", "1")
    recover(store, "3:q", "2:q", "1:q", border=2)
    assert [counter(redis_client, number) for number in (1, 2, 3)] == [b"2", b"1", None]
    assert 990 < redis_client.ttl(f"t:orphanings:{jid(1)}") <= 1000


def test_what_was_orphaned_often_enough_stays_to_be_buried(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={f"{number}:q": job(number) for number in (1, 2, 3, 4)})
    for number, often in {1: 4, 2: 3, 3: 2, 4: 9}.items():
        redis_client.set(f"t:orphanings:{jid(number)}", often)
    beaten(redis_client, 1000)
    redis_client.rpush(SIGNALS, "stop")
    assert recover(store, "4:q", "3:q", "2:q", "1:q", border=3) == [2, 0, [b"q"], [b"2:q", b"1:q"]]
    assert set(cast(list[bytes], redis_client.hkeys(HELD))) == {b"1:q", b"2:q"}
    assert [counter(redis_client, number) for number in (1, 2, 3, 4)] == [b"4", b"3", b"3", b"9"]
    assert redis_client.hexists(BEATS, "me")
    assert redis_client.exists(SIGNALS)


def test_a_damaged_counter_starts_anew(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, mapping={"1:q": job(1), "2:q": job(2)})
    redis_client.set(f"t:orphanings:{jid(1)}", "text")
    redis_client.rpush(f"t:orphanings:{jid(2)}", "list")
    assert recover(store, "2:q", "1:q", most=1) == [2, 0, [b"q"], []]
    assert [counter(redis_client, number) for number in (1, 2)] == [b"1", b"1"]


@pytest.mark.parametrize("raw", [b"{", b"5", b'"text"', b"[]", b'{"jid":5}', b"{}"])
def test_a_job_whose_id_cannot_be_read_goes_back_uncounted(raw: bytes, store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, "1:q", raw)
    assert recover(store, "1:q") == [1, 0, [b"q"], []]
    assert redis_client.lrange("t:queue:q", 0, -1) == [raw]
    assert redis_client.keys("t:orphanings:*") == []


def test_what_a_queue_refuses_stays_uncounted_and_is_told(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:q", "no list")
    redis_client.hset(HELD, mapping={"1:q": job(1), "2:q": job(2)})
    beaten(redis_client, 1000)
    assert recover(store, "2:q", "1:q") == [0, 2, [], []]
    assert redis_client.hlen(HELD) == 2
    assert redis_client.hexists(BEATS, "me")
    for key in (ORPHANED, QUEUES, "t:careful:q", "t:bell:q", f"t:orphanings:{jid(1)}"):
        assert not redis_client.exists(key)


@pytest.mark.parametrize("damaged", [QUEUES, "t:careful:q", "t:bell:q"])
def test_damage_beside_stops_no_recovery(damaged: str, store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(damaged, "no", "such type")
    redis_client.hset(HELD, "1:q", job(1))
    reply = recover(store, "1:q")
    assert reply is not None
    assert reply[0] == 1
    assert not redis_client.exists(HELD)


def test_a_dead_process_with_nothing_left_goes_with_its_commands(store: Store, redis_client: redis.Redis) -> None:
    beaten(redis_client, 1000)
    beaten(redis_client, 1000, "other")
    redis_client.rpush(SIGNALS, "stop")
    assert recover(store) == [0, 0, [], []]
    assert redis_client.hkeys(BEATS) == [b"other"]
    assert set(cast(list[bytes], redis_client.keys("*"))) == {BEATS.encode()}


def test_a_damaged_registry_stops_no_recovery(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(BEATS, "no hash")
    redis_client.hset(HELD, "1:q", job(1))
    assert recover(store, "1:q") == [1, 0, [b"q"], []]


def test_a_damaged_hash_is_refused_before_anything_is_written(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set(HELD, "no hash")
    with pytest.raises(RedisRefused):
        recover(store, "1:q")
    with pytest.raises(RedisRefused):
        bury(store, "1:q")
    assert set(cast(list[bytes], redis_client.keys("*"))) == {HELD.encode()}


# Burying


def test_a_burial_files_counts_and_takes_the_job_and_its_counter_away(store: Store, redis_client: redis.Redis) -> None:
    beaten(redis_client, 1000)
    redis_client.rpush(SIGNALS, "stop")
    redis_client.hset(HELD, mapping={"1:q": job(1), "2:q": job(2)})
    for number in (1, 2):
        redis_client.set(f"t:orphanings:{jid(number)}", "3")
    assert bury(store, "1:q") == 1
    [(entry, stamp)] = cast(list[tuple[bytes, float]], redis_client.zrange(DEAD, 0, -1, withscores=True))
    assert entry == b"entry"
    assert abs(stamp - time.time()) < 5
    assert redis_client.hkeys(HELD) == [b"2:q"]
    assert [counter(redis_client, number) for number in (1, 2)] == [None, b"3"]
    assert redis_client.get(FAILED) == b"1"
    [hour] = cast(list[bytes], redis_client.keys("t:throughput:*"))
    assert redis_client.hgetall(hour) == {b"failed": b"1"}
    assert 590 < redis_client.ttl(hour) <= 600
    assert redis_client.exists(BEATS, SIGNALS) == 2
    assert bury(store, "2:q") == 1
    assert not redis_client.exists(BEATS, SIGNALS, HELD)


def test_a_burial_happens_once(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, "1:q", job(1))
    assert [bury(store, "1:q"), bury(store, "1:q")] == [1, 0]
    assert redis_client.get(FAILED) == b"1"


def test_a_burial_keeps_dead_within_its_number_and_age(store: Store, redis_client: redis.Redis) -> None:
    now = time.time()
    redis_client.hset(HELD, mapping={"1:q": job(1), "2:q": job(2)})
    redis_client.zadd(DEAD, {"old": now - DAY - 10, **{f"d{n}": now - 1000 + n for n in range(9)}})
    bury(store, "1:q")
    assert cast(list[bytes], redis_client.zrange(DEAD, 0, 0)) == [b"d0"]
    assert redis_client.zcard(DEAD) == 10
    bury(store, "2:q", most=4)
    assert redis_client.zcard(DEAD) == 4


def test_what_dead_refuses_stays_with_its_process(store: Store, redis_client: redis.Redis) -> None:
    redis_client.hset(HELD, "1:q", job(1))
    redis_client.set(DEAD, "no set")
    with pytest.raises(RedisRefused):
        bury(store, "1:q")
    assert redis_client.hexists(HELD, "1:q")
    assert not redis_client.exists(FAILED)
