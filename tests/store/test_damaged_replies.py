"""Replies whose framing was damaged on the way: none of them is believed, nor what comes behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import CogworkerError, RedisUnavailable
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.store import replies
from cogworker_django.store.connection import connect
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.keys import Keys
from cogworker_django.store.trips import Landing, Trip, Trips
from tests.scenarios.garble import framing
from tests.scenarios.proxy import Proxy
from tests.stores import raw_job
from tests.support import StartServer
from tests.trips import IN_PROGRESS, ME, verdict

TIMEOUT = 0.1
"""Seconds until a reply that never becomes whole is given up."""


@pytest.fixture
def proxy(start_server: StartServer) -> Iterator[Proxy]:
    made = Proxy(start_server().port)
    yield made
    made.close()


@pytest.fixture
def gateway(proxy: Proxy) -> Iterator[Gateway]:
    client = connect(RedisTarget(url=proxy.url), connections=1, timeout=TIMEOUT)
    client.ping()
    yield Gateway(client, Keys("t:"))
    client.close()


@pytest.fixture
def direct(proxy: Proxy, gateway: Gateway) -> Iterator[redis.Redis]:
    """A way to the same server around the proxy."""
    client = redis.Redis(port=proxy._server_port)
    yield client
    client.close()


def test_a_command_that_more_than_its_reply_follows_counts_as_lost(proxy: Proxy, gateway: Gateway) -> None:
    proxy.corrupt_reply(lambda reply: reply + b"+OK\r\n")
    with pytest.raises(RedisUnavailable, match="more has arrived"):
        gateway.call("SET", "t:x", "1")
    assert gateway.call("GET", "t:x") == b"1"


def test_a_script_that_more_than_its_reply_follows_counts_as_lost(proxy: Proxy, gateway: Gateway) -> None:
    front = ("put_front", ("t:queue:a", "t:bell:a", "t:queues", "t:nothing"), ("a", b"job"))
    assert gateway.run(*front) == 1
    proxy.corrupt_reply(lambda reply: reply + b":7\r\n")
    with pytest.raises(RedisUnavailable, match="more has arrived"):
        gateway.run(*front)
    assert gateway.run(*front) == 1
    assert gateway.call("LLEN", "t:queue:a") == 3


def test_what_no_reply_begins_with_counts_as_lost(proxy: Proxy, gateway: Gateway) -> None:
    """Whether the command was carried out is unknown."""
    proxy.corrupt_reply(lambda reply: b"?" + reply[1:])
    with pytest.raises(RedisUnavailable):
        gateway.call("SET", "t:x", "1")
    assert gateway.call("GET", "t:x") == b"1"


def test_what_the_client_cannot_read_counts_as_lost(proxy: Proxy, gateway: Gateway) -> None:
    for ask in (
        lambda: gateway.call("TIME"),
        lambda: gateway.pipeline([("TIME",)]),
        lambda: replies.each(gateway, [("TIME",)]),
    ):
        proxy.corrupt_reply(lambda reply: b"*0\r\n" + reply[4:])
        with pytest.raises(RedisUnavailable, match="makes no sense"):
            ask()
        assert gateway.call("PING")


def test_what_a_pipeline_leaves_over_is_not_the_reply_to_the_next_command(proxy: Proxy, gateway: Gateway) -> None:
    proxy.corrupt_reply(lambda reply: reply + b"$5\r\nwrong\r\n")
    gateway.pipeline([("SET", "t:x", "1"), ("GET", "t:x")])
    assert gateway.call("GET", "t:x") == b"1"


def test_a_server_that_hangs_up_after_its_reply_has_replied(proxy: Proxy, gateway: Gateway) -> None:
    assert gateway.call("SET", "t:x", "1")
    proxy.cut()
    assert gateway.call("GET", "t:x") == b"1"


@pytest.mark.parametrize("greeting", [0, 1])
def test_a_connection_whose_greeting_was_damaged_is_dropped(proxy: Proxy, direct: redis.Redis, greeting: int) -> None:
    """It may be in another database than ours."""
    client = connect(RedisTarget(url=proxy.url.replace("/0", "/1")), connections=1, timeout=TIMEOUT)
    there = Gateway(client, Keys("t:"))
    for _ in range(greeting):
        proxy.corrupt_reply(lambda reply: reply)
    proxy.corrupt_reply(lambda reply: b"+" + reply[1:])
    with suppress(RedisUnavailable):
        there.call("SET", "t:x", "1")
    there.call("SET", "t:x", "2")
    assert direct.dbsize() == 0
    client.close()


TRIP = Trip(
    progress="0 10",
    done=(),
    verdicts=[verdict("8:b", ["SET", "t:settled", "1"])],
    wanted=3,
    waiting=3,
    first=9,
    picks=[("b", 1), ("a", 2)],
)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_wherever_the_reply_to_a_trip_is_damaged_it_is_refused_or_brings_what_the_hash_holds(
    proxy: Proxy, gateway: Gateway, direct: redis.Redis
) -> None:
    trips = Trips(gateway, ME, reliable=True, gathered=lambda _: [], lock_ttl=60.0)
    sound = _overheard(proxy, direct, trips)
    refused = 0
    for at in framing(sound):
        for new in _others(sound[at]):
            _prepare(direct)
            _connect(gateway)
            proxy.corrupt_reply(lambda reply, at=at, new=new: reply[:at] + new + reply[at + 1 :])  # type: ignore[misc]
            try:
                landing = trips.exchange(TRIP, 0.0)
            except CogworkerError:
                refused += 1
                continue
            assert _brought(landing) == direct.hgetall(IN_PROGRESS), (at, new, landing)
            assert landing.results == ["settled"]
    print(f"{refused} damaged replies were refused")
    assert refused


def _connect(gateway: Gateway) -> None:
    """Makes a new connection where the last one was given up; on a busy machine it may take more than one try."""
    for _ in range(5):
        with suppress(RedisUnavailable):
            gateway.call("PING")
            return
    gateway.call("PING")


def _overheard(proxy: Proxy, direct: redis.Redis, trips: Trips) -> bytes:
    """The reply to a trip."""
    heard = []

    def listen(reply: bytes) -> bytes:
        heard.append(reply)
        return reply

    _prepare(direct)
    trips.exchange(TRIP, 0.0)
    _prepare(direct)
    proxy.corrupt_reply(listen)
    trips.exchange(TRIP, 0.0)
    (reply,) = heard
    return reply


def _others(old: int) -> list[bytes]:
    """What a byte may have become: a neighbour, and the sign of something else."""
    neighbour = old ^ 1
    return [bytes([neighbour]), Random(old).choice([b"*", b"$", b"+", b":", b"9", b"_"])]


def _prepare(client: redis.Redis) -> None:
    client.flushall()
    client.lpush("t:queue:a", *(raw_job(f"{n:024}", "a") for n in range(3)))
    client.lpush("t:queue:b", raw_job(f"{9:024}", "b"))
    client.hset(IN_PROGRESS, "8:b", raw_job(f"{8:024}", "b"))


def _brought(landing: Landing) -> dict[bytes, bytes]:
    """What a process takes what it was brought for, by the tokens that it gives to it."""
    pairs: list[tuple[str, Any]] = [(queue, raw) for queue, raws in landing.jobs for raw in raws]
    return {f"{number}:{queue}".encode(): raw for number, (queue, raw) in enumerate(pairs, TRIP.first)}
