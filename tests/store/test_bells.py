from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import redis

from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.store.bells import Bells
from cogworker_django.store.store import Store
from tests.stores import open_store
from tests.support import StartServer


@pytest.fixture
def bells(store: Store) -> Bells:
    return store.bells(block=5.0)


@pytest.fixture
def ringing_later(redis_client: redis.Redis) -> Iterator[threading.Timer]:
    """Rings in a while, from another thread."""
    timer = threading.Timer(0.05, lambda: redis_client.rpush("t:bell:b", "1"))
    yield timer
    timer.join()


def test_a_token_that_is_there_is_taken_at_once(bells: Bells, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:bell:a", "1", "2")
    assert bells.wait(["t:bell:a"], 5.0) == ("t:bell:a", b"1")
    assert redis_client.llen("t:bell:a") == 1


def test_the_wait_ends_when_one_of_several_bells_rings(bells: Bells, ringing_later: threading.Timer) -> None:
    ringing_later.start()
    began = time.monotonic()
    assert bells.wait(["t:bell:a", "t:bell:b", "t:bell:c"], 5.0) == ("t:bell:b", b"1")
    assert time.monotonic() - began < 1.0


def test_a_wait_in_which_nothing_rings_ends_empty_handed(bells: Bells) -> None:
    began = time.monotonic()
    assert bells.wait(["t:bell:a"], 0.05) is None
    assert time.monotonic() - began >= 0.04


def test_a_token_put_back_is_there_for_the_next(bells: Bells, redis_client: redis.Redis) -> None:
    redis_client.rpush("t:bell:a", "1")
    key, token = bells.wait(["t:bell:a"], 5.0) or ("", b"")
    bells.put_back(key, token)
    assert redis_client.lrange("t:bell:a", 0, -1) == [b"1"]


def test_it_sees_jobs_in_any_of_the_queues(bells: Bells, redis_client: redis.Redis) -> None:
    assert not bells.any_jobs(["a", "b"])
    redis_client.lpush("t:queue:b", "job")
    assert bells.any_jobs(["a", "b"])
    assert not bells.any_jobs(["a"])


def test_the_wait_holds_no_connection_of_the_shared_ones(redis_url: str) -> None:
    """Every other command goes on while the bells are waited at, even with a pool that is used up."""
    store = open_store(redis_url, concurrency=1)
    bells = store.bells(block=5.0)
    waiting = threading.Thread(target=bells.wait, args=(["t:bell:a"], 5.0))
    waiting.start()
    held = [store.client.connection_pool.get_connection() for _ in range(5)]
    bells.put_back("t:bell:a", b"1")
    waiting.join(2.0)
    assert not waiting.is_alive()
    for connection in held:
        store.client.connection_pool.release(connection)
    store.client.close()


def test_a_wait_that_the_server_cuts_off_is_an_outage(start_server: StartServer) -> None:
    server = start_server()
    store = open_store(server.url)
    bells = store.bells(block=5.0)
    caught: list[BaseException] = []

    def wait() -> None:
        with pytest.raises(RedisUnavailable) as error:
            bells.wait(["t:bell:a"], 5.0)
        caught.append(error.value)

    waiting = threading.Thread(target=wait)
    waiting.start()
    deadline = time.monotonic() + 5
    while store.client.info("clients")["blocked_clients"] == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    server.kill()
    waiting.join(5.0)
    assert len(caught) == 1
