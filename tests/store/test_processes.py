from __future__ import annotations

import pytest
import redis

from cogworker_django.store.processes import Processes
from cogworker_django.store.store import Store

ME = "host:1:abc"


@pytest.fixture
def processes(store: Store) -> Processes:
    return Processes(store.gateway, presence_ttl=60.0)


def beat(processes: Processes, *, read_commands: bool = True) -> tuple[str, ...]:
    return processes.beat(ME, progress="7 10", info=b'{"busy":0}', read_commands=read_commands).commands


def test_a_beat_registers_the_process_with_the_servers_time_and_its_progress(
    processes: Processes, store: Store, redis_client: redis.Redis
) -> None:
    """Reference R31."""
    before = store.jobsets.now()
    reply = processes.beat(ME, progress="7 10", info=b"{}", read_commands=True)
    stamp, started, concurrency = (redis_client.hget("t:beats", ME) or "").split()
    assert before <= float(stamp) == reply.now
    assert (int(started), int(concurrency)) == (7, 10)


def test_presence_is_published_and_expires(processes: Processes, redis_client: redis.Redis) -> None:
    beat(processes)
    assert redis_client.get(f"t:process:{ME}") == b'{"busy":0}'
    assert 55_000 < redis_client.pttl(f"t:process:{ME}") <= 60_000


def test_commands_come_with_the_beat_in_order_and_once(processes: Processes, redis_client: redis.Redis) -> None:
    redis_client.rpush(f"t:signals:{ME}", "quiet", "resume", "stop")
    assert beat(processes) == ("quiet", "resume", "stop")
    assert beat(processes) == ()


def test_a_command_that_is_no_text_loses_no_other(processes: Processes, redis_client: redis.Redis) -> None:
    redis_client.rpush(f"t:signals:{ME}", b"\xff", "stop")
    assert beat(processes) == ("\ufffd", "stop")


def test_commands_stay_for_whoever_waits_for_them_elsewhere(processes: Processes, redis_client: redis.Redis) -> None:
    redis_client.rpush(f"t:signals:{ME}", "quiet")
    assert beat(processes, read_commands=False) == ()
    assert redis_client.llen(f"t:signals:{ME}") == 1


@pytest.mark.parametrize(("key", "value"), [(f"t:signals:{ME}", "no list"), ("t:beats", "no hash")])
def test_a_damaged_key_does_not_stop_a_beat(
    key: str, value: str, processes: Processes, redis_client: redis.Redis
) -> None:
    """Reference E9: presence is the one essential write."""
    redis_client.set(key, value)
    assert beat(processes) == ()
    assert redis_client.exists(f"t:process:{ME}")


def test_what_runs_is_published_with_an_expiry_and_taken_off(processes: Processes, redis_client: redis.Redis) -> None:
    processes.publish_work(ME, b"[{}]")
    assert redis_client.get(f"t:work:{ME}") == b"[{}]"
    assert 55_000 < redis_client.pttl(f"t:work:{ME}") <= 60_000
    processes.publish_work(ME, None)
    assert not redis_client.exists(f"t:work:{ME}")


def test_queues_are_listed_before_they_have_a_job(processes: Processes, redis_client: redis.Redis) -> None:
    """Reference E12."""
    processes.list_queues(["a", "b"])
    assert redis_client.smembers("t:queues") == {b"a", b"b"}


def test_a_process_that_leaves_cleanly_leaves_nothing(processes: Processes, redis_client: redis.Redis) -> None:
    beat(processes)
    processes.publish_work(ME, b"[{}]")
    redis_client.rpush(f"t:signals:{ME}", "stop")
    assert processes.forget(ME)
    assert redis_client.keys("t:*") == []


def test_a_process_that_leaves_with_unsettled_jobs_stays_registered_for_recovery(
    processes: Processes, redis_client: redis.Redis
) -> None:
    beat(processes)
    redis_client.hset(f"t:inprogress:{ME}", "1:default", "job")
    assert not processes.forget(ME)
    assert redis_client.hexists("t:beats", ME)
    assert not redis_client.exists(f"t:process:{ME}")


def test_a_damaged_registry_does_not_stop_a_leave(processes: Processes, redis_client: redis.Redis) -> None:
    redis_client.set("t:beats", "no hash")
    beat(processes)
    assert processes.forget(ME)
    assert redis_client.keys("t:*") == [b"t:beats"]


def test_a_leave_touches_no_other_process(processes: Processes, redis_client: redis.Redis) -> None:
    beat(processes)
    redis_client.hset("t:beats", "other", "1")
    processes.forget(ME)
    assert redis_client.hkeys("t:beats") == [b"other"]
