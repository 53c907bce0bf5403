from __future__ import annotations

import json

import pytest
import redis

from cogworker_django.store.snapshot import Wanted
from cogworker_django.store.store import Store
from tests.stores import raw_job

ALL = Wanted(work=True, server=True, hours=24, days=30, jid="j1")


def test_an_empty_server_shows_zeros(store: Store, redis_client: redis.Redis) -> None:
    seen = store.snapshots.look(ALL)
    assert (seen.processed, seen.failed, seen.scheduled_size, seen.retry_size, seen.dead_size) == (0, 0, 0, 0, 0)
    assert (seen.queues, seen.processes, seen.silent, seen.work, seen.status, seen.attempts) == ([], [], {}, [], {}, [])
    assert len(seen.hours) == 24 and len(seen.days) == 30
    assert seen.server["redis_version"] and seen.now == pytest.approx(float(redis_client.time()[0]), abs=5)
    plain = store.snapshots.look(Wanted())
    assert (plain.server, plain.hours, plain.days) == ({}, [], [])


def test_one_look_shows_everything(store: Store, redis_client: redis.Redis) -> None:
    now = float(redis_client.time()[0])
    redis_client.lpush("t:queue:mail", raw_job(enqueued_at=now - 10), raw_job(enqueued_at=now))
    redis_client.sadd("t:queues", "mail")
    redis_client.sadd("t:paused_queues", "low", "*")
    redis_client.hset("t:beats", mapping={"a": f"{now} 0 1", "gone": f"{now - 99} 0 1", "odd": "x"})
    redis_client.set("t:process:a", '{"queues":[["mail",1]],"concurrency":3}')
    redis_client.set("t:work:a", json.dumps([{"thread": "t", "payload": {"jid": "j1"}}, 5]))
    redis_client.hset(f"t:throughput:{int(now) // 3600}", mapping={"processed": 7, "failed": "x"})
    redis_client.set("t:status:j1", '{"status":"working"}')
    redis_client.rpush("t:job_attempts:j1", "no json")
    seen = store.snapshots.look(ALL)
    assert [(queue.name, queue.size, queue.paused) for queue in seen.queues] == [("low", 0, True), ("mail", 2, True)]
    assert seen.queues[1].latency == pytest.approx(10, abs=3)
    assert seen.intake_paused and seen.paused == frozenset({"low"})
    assert [process.identity for process in seen.processes] == ["a"]
    assert set(seen.silent) == {"gone", "odd"} and seen.silent["odd"] is None
    assert [identity for identity, _ in seen.work] == ["a"]
    assert (seen.hours[-1].processed, seen.hours[-1].failed) == (7, 0)
    assert (seen.status, seen.attempts) == ({"status": "working"}, [])


@pytest.mark.parametrize(
    "key",
    ["queues", "paused_queues", "beats", "stats:processed", "retry", "queue:mail", "status:j1", "job_attempts:j1"],
)
def test_a_damaged_key_hides_nothing_else(store: Store, redis_client: redis.Redis, key: str) -> None:
    redis_client.sadd("t:queues", "mail")
    redis_client.zadd("t:dead", {"x": 1})
    redis_client.delete(f"t:{key}")
    if key in ("stats:processed", "status:j1"):
        redis_client.rpush(f"t:{key}", "x")
    else:
        redis_client.set(f"t:{key}", "x")
    assert store.snapshots.look(ALL).dead_size == 1
