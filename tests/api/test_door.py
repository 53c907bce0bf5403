from __future__ import annotations

import redis
from django.test import override_settings

from cogworker_django import runtime
from cogworker_django.api.door import opened
from cogworker_django.api.queue import Queue
from cogworker_django.store.store import Store


def test_a_given_store_is_taken_and_otherwise_the_runtimes(
    store: Store, redis_url: str, redis_client: redis.Redis
) -> None:
    assert opened(store) is store
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "other:"}):
        assert opened(None) is runtime.current().store
        redis_client.lpush("other:queue:default", "x")
        assert Queue().size == 1
