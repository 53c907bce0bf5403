from __future__ import annotations

import json

import pytest
import redis

from cogworker_django.api.queue import Queue, QueueSet
from cogworker_django.store.store import Store
from tests.stores import TOUCHY_ARGS, jids, queued, raw_job

DAMAGED = [b"not json", b"null", b"[]", b"{}", b'{"class":5}', b"\x80\x04", b"[" * 200_000, b""]


def test_size_latency_and_jobs_of_a_queue(store: Store, redis_client: redis.Redis) -> None:
    queue = Queue("high", store)
    assert (queue.size, queue.latency, list(queue)) == (0, 0.0, [])
    old = raw_job("a" * 24, "high", args=TOUCHY_ARGS, kwargs={"kind": "csv"}, enqueued_at=store.jobsets.now() - 30)
    redis_client.lpush("t:queue:high", old, raw_job("b" * 24, "high"))
    assert queue.size == 2
    assert queue.latency == pytest.approx(30, abs=5)
    newest, oldest = queue
    assert newest.jid == "b" * 24
    assert (oldest.klass, oldest.args, oldest.kwargs, oldest.queue, oldest.jid) == (
        "demo.Job",
        TOUCHY_ARGS,
        {"kind": "csv"},
        "high",
        "a" * 24,
    )
    assert oldest.item == json.loads(old)
    assert oldest.value == old
    assert (repr(queue), repr(oldest)) == ("<Queue high>", f"<QueuedJob demo.Job {'a' * 24}>")


def test_a_queue_is_walked_in_pages(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:queue:default", *(raw_job(f"{n:024}") for n in range(120)))
    assert [job.jid for job in Queue(store=store)] == [f"{n:024}" for n in range(120)]
    assert [job.jid for job in Queue(store=store).page(5, 6)] == [f"{n:024}" for n in (5, 6)]


def test_damaged_elements_break_neither_iteration_nor_latency_nor_deletion(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.lpush("t:queue:default", raw_job(), *DAMAGED)
    redis_client.rpush("t:queue:default", b"damaged and next")
    queue = Queue("default", store)
    jobs = list(queue)
    assert [job.klass for job in jobs] == ["(unparseable)"] * 8 + ["demo.Job", "(unparseable)"]
    assert {job.queue for job in jobs} == {"default"}
    assert jobs[-1].item["raw_payload"] == "damaged and next"
    assert jobs[-1].jid == jobs[-1].jid
    assert queue.latency == 0.0
    assert queue.delete("0" * 24)
    assert all(job.delete() for job in queue)
    assert queue.size == 0


def test_a_job_is_deleted_by_its_id(store: Store, redis_client: redis.Redis) -> None:
    redis_client.lpush("t:queue:default", raw_job("a" * 24), raw_job("b" * 24))
    assert Queue("default", store).delete("a" * 24)
    assert not Queue("default", store).delete("a" * 24)
    assert jids(queued(redis_client)) == ["b" * 24]


def test_a_queue_is_paused_resumed_and_cleared(store: Store, redis_client: redis.Redis) -> None:
    queue = Queue("default", store)
    redis_client.lpush("t:queue:default", raw_job(), raw_job())
    assert [queue.paused, queue.pause(), queue.paused] == [False, True, True]
    assert [queue.resume(), queue.paused] == [True, False]
    assert redis_client.llen("t:bell:default") == 2
    assert queue.clear() == 2
    assert queue.size == 0


@pytest.mark.parametrize("name", ["ü x", "{h}", "*", "a\nb", "x" * 300, ""])
def test_a_name_that_no_queue_can_have_is_refused(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        Queue(name, store)


def test_all_queues_are_those_that_had_a_job_and_those_that_are_read(store: Store, redis_client: redis.Redis) -> None:
    redis_client.sadd("t:queues", "b", "a")
    redis_client.lpush("t:queue:b", raw_job())
    store.processes.beat("host:1:x", progress="0 1", info=b'{"queues":[["c",1],["a",2]]}', read_commands=False)
    assert [(state.name, state.size) for state in QueueSet(store)] == [("a", 0), ("b", 1), ("c", 0)]


def test_a_paused_queue_shows_though_it_is_empty(store: Store) -> None:
    """Nobody has pushed to it or reads it, and yet what is pushed to it later will wait."""
    Queue("held", store).pause()
    store.queue_reader.pause()
    assert [(state.name, state.size, state.paused) for state in QueueSet(store)] == [("held", 0, True)]
    assert Queue("held", store).clear() == 0
    assert QueueSet(store).names() == ["held"]
    Queue("held", store).resume()
    assert QueueSet(store).names() == []
