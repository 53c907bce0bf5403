from __future__ import annotations

import json

import pytest
import redis

from cogworker_django.api.processes import ProcessSet, WorkSet
from cogworker_django.store.store import Store

INFO = {"hostname": "host", "pid": 1, "concurrency": 10, "queues": [["default", 1]], "busy": 2, "quiet": True}


def beat(store: Store, identity: str, info: bytes = b"{}") -> tuple[str, ...]:
    return store.processes.beat(identity, progress="0 10", info=info, read_commands=True).commands


def test_processes_reflect_beats_and_are_gone_after_the_leave(store: Store) -> None:
    processes = ProcessSet(store)
    assert (processes.size, list(processes)) == (0, [])
    beat(store, "host:1:abc", json.dumps(INFO).encode())
    beat(store, "host:2:abc")
    first, second = processes
    assert {name: first[name] for name in INFO} == INFO
    assert (first["identity"], first.identity) == ("host:1:abc", "host:1:abc")
    assert first["beat_at"] == pytest.approx(store.jobsets.now(), abs=5)
    assert (second["busy"], second["quiet"]) == (0, False)
    assert (repr(second), len(second)) == ("<Process host:2:abc>", 4)
    assert set(dict(first)) == {*INFO, "identity", "beat_at"}
    store.processes.forget("host:1:abc")
    assert [process.identity for process in processes] == ["host:2:abc"]


def test_a_process_is_found_by_its_identity(store: Store) -> None:
    beat(store, "host:1:abc")
    found = ProcessSet(store).find("host:1:abc")
    assert found is not None and found.identity == "host:1:abc"
    assert ProcessSet(store).find("unknown") is None


def test_what_a_process_is_told_reaches_it_in_order_with_its_next_beat(store: Store) -> None:
    beat(store, "a")
    [process] = ProcessSet(store)
    process.quiet()
    process.resume()
    process.stop()
    assert beat(store, "a") == ("quiet", "resume", "stop")


def test_running_jobs_are_listed_with_their_process_and_thread(store: Store) -> None:
    assert (WorkSet(store).size, list(WorkSet(store))) == (0, [])
    beat(store, "a")
    beat(store, "b")
    rows = [
        {"thread": "processor-1", "queue": "high", "run_at": 5.5, "payload": {"jid": "x", "args": [1.0]}},
        {"thread": "processor-2", "queue": "low", "run_at": 6, "payload": None},
    ]
    store.processes.publish_work("b", json.dumps(rows).encode())
    store.processes.publish_work("unknown", json.dumps(rows).encode())
    (identity, thread, work), (_, _, other) = WorkSet(store)
    assert (identity, thread) == ("b", "processor-1")
    assert (work.process_id, work.thread_id, work.queue, work.run_at) == ("b", "processor-1", "high", 5.5)
    assert work.job == {"jid": "x", "args": [1.0]}
    assert (other.run_at, other.job) == (6.0, {})
    assert WorkSet(store).size == 2


def test_damaged_work_is_shown_as_far_as_it_can_be_read(store: Store, redis_client: redis.Redis) -> None:
    beat(store, "a")
    redis_client.set("t:work:a", '[null, 5, {"run_at":"then","payload":"text"}, {"run_at":%s}]' % ("9" * 400))
    found = [(identity, thread, work.queue, work.run_at, work.job) for identity, thread, work in WorkSet(store)]
    assert found == [("a", "", "", 0.0, {})] * 2
