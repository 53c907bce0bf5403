from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.process_reader import SIGNALS_KEPT, SIGNALS_MOST, Signal
from cogworker_django.store.store import Store


def beat(store: Store, identity: str, **info: object) -> None:
    store.processes.beat(identity, progress="0 10", info=json.dumps(info).encode(), read_commands=False)


def test_a_process_is_there_after_its_beat_and_gone_after_its_leave(store: Store) -> None:
    assert store.process_reader.living() == []
    now = store.jobsets.now()
    beat(store, "host:1:abc", busy=2, queues=[["high", 3], ["low", 1]])
    [process] = store.process_reader.living()
    assert (process.identity, process.info["busy"], process.queues) == ("host:1:abc", 2, ["high", "low"])
    assert process.beat_at == pytest.approx(now, abs=5)
    store.processes.forget("host:1:abc")
    assert store.process_reader.living() == []


def test_processes_come_in_order_and_without_those_whose_presence_expired(
    store: Store, redis_client: redis.Redis
) -> None:
    for number in range(450):
        beat(store, f"host:{number:03}:abc")
    redis_client.delete("t:process:host:007:abc")
    identities = [process.identity for process in store.process_reader.living()]
    assert identities == [f"host:{number:03}:abc" for number in range(450) if number != 7]
    assert redis_client.hexists("t:beats", "host:007:abc")  # taking it off is recovery's business


@pytest.mark.parametrize("info", [b"not json", b"[]", b"null", b'"text"', b"\xff", b"[" * 200_000])
def test_a_process_whose_info_cannot_be_read_is_there_all_the_same(
    store: Store, redis_client: redis.Redis, info: bytes
) -> None:
    redis_client.hset("t:beats", "a", "no stamp")
    redis_client.set("t:process:a", info)
    [process] = store.process_reader.living()
    assert (process.identity, process.info, process.beat_at, process.queues) == ("a", {}, None, [])


@pytest.mark.parametrize("stamp", ["inf", "-inf", "nan", "9" * 400, "", "x 1 1"])
def test_a_beat_that_is_no_time_is_not_shown(stamp: str, store: Store, redis_client: redis.Redis) -> None:
    beat(store, "a")
    redis_client.hset("t:beats", "a", stamp)
    assert [process.beat_at for process in store.process_reader.living()] == [None]


def test_what_could_not_be_written_again_is_not_shown(store: Store, redis_client: redis.Redis) -> None:
    """Readers make JSON of it, a little deeper than it was."""
    beat(store, "a", tag=1)
    deep = b'{"tag":' + b"[" * 800 + b"]" * 800 + b"}"
    redis_client.set("t:process:a", deep)
    redis_client.set("t:work:a", b"[" + deep + b"]")
    assert [process.info for process in store.process_reader.living()] == [{}]
    assert store.process_reader.work(["a"]) == [("a", [])]


def test_a_presence_of_the_wrong_type_does_not_hide_the_other_processes(
    store: Store, redis_client: redis.Redis
) -> None:
    beat(store, "a")
    beat(store, "b")
    redis_client.delete("t:process:a")
    redis_client.lpush("t:process:a", "no string")
    assert [process.identity for process in store.process_reader.living()] == ["b"]


def test_the_work_of_processes_is_read_and_what_is_damaged_is_left_out(store: Store, redis_client: redis.Redis) -> None:
    work = [{"thread": "t1", "queue": "high", "run_at": 5.5, "payload": {"jid": "x"}}]
    store.processes.publish_work("a", json.dumps(work).encode())
    redis_client.set("t:work:b", "not json")
    redis_client.set("t:work:c", '[5, {"thread":"t2"}]')
    redis_client.lpush("t:work:d", "no string")
    found = store.process_reader.work(["a", "b", "c", "d", "idle"])
    assert found == [("a", work), ("b", []), ("c", [{"thread": "t2"}]), ("d", []), ("idle", [])]


def test_commands_wait_in_order_until_the_process_reads_them_with_a_beat(
    store: Store, redis_client: redis.Redis
) -> None:
    store.process_reader.signal("a", Signal.QUIET)
    store.process_reader.signal("a", Signal.RESUME)
    assert 0 < redis_client.ttl("t:signals:a") <= SIGNALS_KEPT
    reply = store.processes.beat("a", progress="0 10", info=b"{}", read_commands=True)
    assert reply.commands == ("quiet", "resume")
    assert store.processes.beat("a", progress="0 10", info=b"{}", read_commands=True).commands == ()


def test_only_the_newest_commands_wait(store: Store, redis_client: redis.Redis) -> None:
    for _ in range(SIGNALS_MOST + 3):
        store.process_reader.signal("a", Signal.QUIET)
    store.process_reader.signal("a", Signal.STOP)
    waiting = redis_client.lrange("t:signals:a", 0, -1)
    assert len(waiting) == SIGNALS_MOST
    assert waiting[-1] == b"stop"


def test_only_what_contains_the_text_is_found_in_a_processs_hands(store: Store, redis_client: redis.Redis) -> None:
    """To the letter, wherever it stands; a damaged hash is told of."""
    held: dict[Any, Any] = {
        "1:default": "a.c in front",
        "2:default": "abc",
        "3:default": "at the end a.c",
        "4:default": "%",
    }
    redis_client.hset("t:inprogress:x", mapping=held)
    key = store.keys.in_progress("x")
    assert sorted(store.gateway.run("find_held", (key,), ("a.c",))) == [b"a.c in front", b"at the end a.c"]
    assert store.gateway.run("find_held", (key,), ("%",)) == [b"%"]
    redis_client.set("t:inprogress:y", "damaged")
    with pytest.raises(RedisRefused):
        store.gateway.run("find_held", (store.keys.in_progress("y"),), ("a",))
