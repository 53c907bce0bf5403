"""Periodic entries: many tickers at the same slots, and each slot is fired once."""

from __future__ import annotations

import json
import multiprocessing
import random
from collections import Counter
from multiprocessing.synchronize import Barrier

import pytest
import redis

from cogworker_django import definition, job
from cogworker_django.client import JobClient
from cogworker_django.core.config import Config
from cogworker_django.core.cron import Cron
from cogworker_django.core.entry import Entry
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.features.firing import Firing
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.dispatcher import RedisDispatcher
from cogworker_django.store.periodic import Fired
from cogworker_django.store.store import Store
from tests.scenarios.rig import PREFIX
from tests.scenarios.scale import size
from tests.support import StartServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(120, 900))]

TICKERS, ENTRIES, ROUNDS = size(12, 40), 20, size(10, 25)
EVERY_MINUTE = "* * * * *"


@job(name="ticked")
def ticked() -> None:
    """What the entries push."""


def fire_all(url: str, seed: int, barrier: Barrier) -> None:
    """One ticker process: it fires each slot of each entry as soon as all are ready, in an order of its own."""
    store = Store(Config(redis=RedisTarget(url=url), prefix=PREFIX, status=None, history=None))
    clock = RedisClock()
    clock.tell(store.jobsets.now())
    firing = Firing(store.periodic, JobClient(RedisDispatcher(store.queues), registry=definition.REGISTRY))
    entries = [Entry(name=f"entry {n}", cron=Cron(EVERY_MINUTE, "UTC"), job="ticked") for n in range(ENTRIES)]
    chance = random.Random(seed)
    for number in range(ROUNDS):
        barrier.wait(60)
        for entry in chance.sample(entries, ENTRIES):
            assert firing.fire(entry, 60 * (number + 1)) in (Fired.FIRED, Fired.TAKEN)
    store.client.close()


def test_each_slot_of_each_entry_has_one_winner(start_server: StartServer) -> None:
    """Case T22, at 40 tickers, 20 entries and 25 rounds in the long size."""
    server = start_server()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(TICKERS)
    tickers = [context.Process(target=fire_all, args=(server.url, seed, barrier)) for seed in range(TICKERS)]
    for process in tickers:
        process.start()
    for process in tickers:
        process.join(600)
        assert process.exitcode == 0
    fired = fired_slots(redis.Redis.from_url(server.url))
    assert len(fired) == ENTRIES * ROUNDS
    assert set(fired.values()) == {1}
    print(f"{TICKERS} tickers, {ENTRIES} entries, {ROUNDS} rounds: {len(fired)} slots, each fired once")


def fired_slots(client: redis.Redis) -> Counter[tuple[str, int]]:
    """How often each slot was fired."""
    raws = client.lrange(f"{PREFIX}queue:default", 0, -1)
    payloads = [json.loads(raw) for raw in raws]
    return Counter((payload["periodic_name"], payload["periodic_slot"]) for payload in payloads)
