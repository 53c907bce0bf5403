"""A registry of processes that cannot be read (reference S13, E9): work and recovery go on."""

from __future__ import annotations

import pytest
import redis

from tests.worker.rigs import Rigs, messages, until


def test_a_dead_processes_jobs_come_back_although_nobody_is_registered(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    held = rigs.holding()
    victim = rigs(concurrency=1, orphan_threshold=0.5).start()
    victim.push("hold")
    until(lambda: held.started == 1)
    redis_client.delete("t:beats")
    redis_client.set("t:beats", "no hash")
    victim.kill()
    other = rigs(concurrency=1, orphan_threshold=0.5).start()
    until(lambda: held.started == 2)
    assert any("key t:beats was a string instead of a hash" in line for line in messages(caplog))
    held.let_go()
    until(other.settled)
    other.stop()
    assert redis_client.keys("t:*process:*") == []


def test_a_process_that_lives_keeps_its_jobs_whatever_has_become_of_the_registry(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    held = rigs.holding()
    busy = rigs(concurrency=1, orphan_threshold=0.3).start()
    busy.push("hold")
    until(lambda: held.started == 1)
    redis_client.delete("t:beats")
    redis_client.set("t:beats", "no hash")
    idle = rigs(concurrency=1, orphan_threshold=0.3)
    assert idle.worker.heartbeat.beat()
    for _ in range(3):
        assert idle.store.recovery.recover(busy.identity) is None
    assert (held.started, busy.held()) == (1, 1)
