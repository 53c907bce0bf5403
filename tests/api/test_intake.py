from __future__ import annotations

import redis

from cogworker_django.api.intake import Intake
from cogworker_django.api.queue import Queue
from cogworker_django.store.store import Store
from tests.stores import raw_job


def test_intake_is_paused_for_all_queues_and_resumed(store: Store, redis_client: redis.Redis) -> None:
    redis_client.sadd("t:queues", "default")
    redis_client.lpush("t:queue:default", raw_job())
    assert not Intake(store).paused
    assert [Intake(store).pause(), Intake(store).pause()] == [True, False]
    assert Intake(store).paused
    assert Queue("default", store).paused
    assert [Intake(store).resume(), Intake(store).resume()] == [True, False]
    assert not Intake(store).paused
    assert redis_client.llen("t:bell:default") == 1
