"""Bytes that are no job, wherever they lie: each is in dead once, and the jobs around them run (case B095)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import redis

from cogworker_django.core.payload import RAW_LIMIT
from tests.stores import raw_job
from tests.worker.rigs import Rigs, messages, until

UNREADABLE = [
    b"[" * 200_000,
    b"",
    b"null",
    b"[]",
    b"{}",
    b'{"class":5}',
    b'{"class":"note","args":[1]}',
    b'{"class":"note","args":"text","jid":"j"}',
    b'{"class":"note","args":[1],"jid":5}',
    b'\xef\xbb\xbf{"class":"note","args":[1],"jid":"j"}',
    b'{"class":"note","args":["\xff\xfe"],"jid":"j"}',
    b'{"class":"note","args":[NaN],"jid":"j"}',
    b'{"class":"note","args":[1e999],"jid":"j"}',
    b'{"class":"note","args":[1],"kwargs":[],"jid":"j"}',
    b"\x80\x04\x95\x0c\x00\x00\x00",
    b"not json\n\x1b[2J",
]
SOUND = 100


def kept(raw: bytes) -> str:
    """What dead keeps of it."""
    return raw.decode("utf-8", "replace")[:RAW_LIMIT]


def test_in_every_place_they_are_buried_once_and_the_sound_jobs_run(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference P7, P44, S5, R9."""
    seen, told = rigs.recording(), list[Any]()
    rig = rigs(handlers=[lambda payload: told.append(payload)], orphan_threshold=0.5)
    sound = [raw_job(f"{n:024}", **{"class": "note"}, args=[n]) for n in range(SOUND)]
    redis_client.lpush("t:queue:default", *sound[:40], *UNREADABLE, *sound[40:60])
    for name, jobs in (("schedule", sound[60:70]), ("retry", sound[70:80])):
        redis_client.zadd(f"t:{name}", dict.fromkeys(UNREADABLE, 0) | dict.fromkeys(jobs, 1))
    left = [*sound[80:90], *UNREADABLE, *sound[90:]]
    redis_client.hset("t:inprogress:gone:1:x", mapping={f"{n}:default": raw for n, raw in enumerate(left, start=1)})
    redis_client.hset("t:beats", "gone:1:x", "1.0 0 1")

    rig.start()
    until(lambda: len(seen) >= SOUND and redis_client.zcard("t:dead") >= 4 * len(UNREADABLE) and rig.settled())
    assert Counter(seen) == Counter(range(SOUND))
    entries = rig.dead()
    assert Counter(entry["raw_payload"] for entry in entries) == {kept(raw): 4 for raw in UNREADABLE}
    for entry in entries:
        assert (entry["class"], entry["retry"], entry["error_class"]) == ("(unparseable)", False, "UnreadablePayload")
        assert entry["error_message"]
    assert Counter(entry["queue"] for entry in entries) == {"default": 2 * len(UNREADABLE), None: 2 * len(UNREADABLE)}
    assert not redis_client.exists("t:schedule", "t:retry", "t:inprogress:gone:1:x")
    assert rig.counts() == (SOUND, 4 * len(UNREADABLE))
    assert all(processor.thread.is_alive() for processor in rig.worker.processors)
    assert told == []
    assert not any("\n" in line or "\x1b" in line for line in messages(caplog))


@pytest.mark.parametrize("name", ["schedule", "retry"])
def test_one_that_names_a_queue_is_buried_where_it_would_have_run(
    name: str, rigs: Rigs, redis_client: redis.Redis
) -> None:
    seen = rigs.recording()
    rig = rigs()
    redis_client.zadd(f"t:{name}", {b'{"class":5,"queue":"default"}': 0, raw_job(**{"class": "note"}, args=[1]): 1})
    rig.start()
    until(lambda: seen and rig.dead() and rig.settled())
    [entry] = rig.dead()
    assert entry["raw_payload"].startswith('{"class":5,"queue":"default"')
    assert entry["queue"] == "default"
    assert rig.counts() == (1, 1)


@pytest.mark.slow
def test_a_huge_one_is_buried_and_cut(rigs: Rigs, redis_client: redis.Redis) -> None:
    """64 MB of spaces."""
    seen = rigs.recording()
    rig = rigs(concurrency=1)
    redis_client.lpush("t:queue:default", b" " * 64_000_000, raw_job(**{"class": "note"}, args=[1]))
    rig.start()
    until(lambda: seen and rig.settled())
    [entry] = rig.dead()
    assert entry["raw_payload"] == " " * RAW_LIMIT
    assert (redis_client.memory_usage("t:dead", samples=0) or 0) < 200_000
