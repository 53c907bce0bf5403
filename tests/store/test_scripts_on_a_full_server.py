"""On a server at maxmemory every script that moves, files or tells does so all the same (reference, guarantee 6)."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store
from tests.stores import open_store, raw_job
from tests.support import StartServer
from tests.trips import IN_PROGRESS, Traveller, verdict

NOTHING, BELL = "t:nothing", "t:bell"
HELD = ("t:held", "t:beats", "t:process")
ENTRY = raw_job().decode()

# Name, keys, arguments and reply of scripts; what they need is in `prepared`.
CALLS: dict[str, tuple[tuple[str, ...], tuple[Any, ...], Any]] = {
    "promote": (("t:retry", "t:queues", NOTHING), ("t:", 60, "a", "q", "A", "", ""), [b"moved"]),
    "kill": (("t:retry", "t:dead", NOTHING), ("t:", 10, 100, "a"), [b"moved"]),
    "bury": (("t:retry", "t:dead", "t:failed", NOTHING), ("t:", 10, 100, 600, "a", "A"), [b"moved"]),
    "reschedule": (("t:retry", "t:schedule", BELL, NOTHING), ("a", "at", 5, "t:", "", "", 60), b"moved"),
    "postpone": (("t:retry", NOTHING), (5, "a"), 1),
    "requeue": (("t:held", "t:queues", NOTHING), ("t:", 60, "1:q"), [1]),
    "recover": ((*HELD, "t:orphaned", "t:queues", NOTHING), ("t:", "me", 9, 3, 9, 9, 9, 60, "1:q"), [1, 0, [b"q"], []]),
    "bury_orphan": ((*HELD, "t:dead", "t:failed", NOTHING), ("t:", "me", 9, "1:q", "A", 9, 99, 600), 1),
    "put_front": (("t:queue:q", BELL, "t:queues", NOTHING), ("q", "A"), 1),
    "put_back": ((BELL, NOTHING), ("1",), 1),
    "file_unsettled": (("t:unsettled", "t:retry", "t:counter", BELL, NOTHING), ("r", "5", "A"), 1),
    "set_aside": (("t:unsettled", "t:aside", NOTHING), ("r", 100, 5), 1),
    "publish_work": (("t:work", NOTHING), ("[]", 5000), b"OK"),
    "enable_entry": (("t:disabled", "t:slots"), ("off",), 1),
    "quarantine": (("t:retry", "t:copy", NOTHING), ("hash", 100), b"zset"),
    "restore": (("t:retry", "t:copy", NOTHING), (100, "1:q", ENTRY), b"zset"),
}


@pytest.fixture
def full(start_server: StartServer) -> Any:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    client = store.client
    client.zadd("t:retry", {"a": 1, "b": 2})
    client.hset("t:held", mapping={"1:q": ENTRY, "2:q": ENTRY})
    client.hset(IN_PROGRESS, mapping={"1:q": ENTRY, "2:q": ENTRY})
    client.rpush("t:unsettled", "r", "s")
    client.sadd("t:disabled", "off")
    client.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        client.set("more", "text")
    yield store
    store.close()


@pytest.mark.parametrize("name", CALLS)
def test_a_script_does_its_work(name: str, full: Store) -> None:
    keys, args, reply = CALLS[name]
    assert full.gateway.run(name, keys, args) == reply


def test_what_was_only_fetched_is_recovered_too(full: Store) -> None:
    """No counter of it is looked at first, and so none deleted."""
    keys, (*head, _, lock_ttl, token), reply = CALLS["recover"]
    assert full.gateway.run("recover", keys, (*head, 0, lock_ttl, token)) == reply


def test_a_failure_alone_is_filed_by_a_trip_that_settles_and_fetches_nothing_else(full: Store) -> None:
    filed = verdict("1:q", ["ZADD", "t:retry", "5", "entry"])
    assert Traveller(full).go(verdicts=[filed]).results == ["settled"]
    assert full.client.zscore("t:retry", "entry") == 5


def test_a_trip_that_finds_nothing_is_a_beat(full: Store) -> None:
    Traveller(full).go(1, "empty")
    assert full.client.hlen("t:beats") == 1


def test_a_beat_is_stamped(full: Store) -> None:
    keys = ("t:beats", "t:process", "t:signals", NOTHING)
    [now] = full.gateway.run("beat", keys, ("me", "7 10", "{}", 5000, 1))
    assert full.client.hget("t:beats", "me") == now + b" 7 10"


@pytest.mark.parametrize(
    ("name", "keys", "args"),
    [
        ("push", ("t:queue:q", BELL, "t:queues"), ("q", "t:", 60, 60, 1, "A")),
        ("push", ("t:queue:q", BELL, "t:queues"), ("q", "t:", 60, 60, 4, "A", "j", "d" * 32, "{}")),
        ("schedule", ("t:schedule", BELL), ("t:", 60, 60, "at", 5, "A", "j", "d" * 32, "{}")),
        ("skip_slot", ("t:slots",), ("e", 5, 0)),
        (
            "fire_slot",
            ("t:queue:q", BELL, "t:queues", "t:slots", "t:disabled", "t:runs"),
            ("q", "t:", 60, 60, "e", 5, "A", "j", "d" * 32, "{}"),
        ),
    ],
)
def test_new_jobs_and_slots_are_refused_and_nothing_of_them_is_written(
    name: str, keys: tuple[str, ...], args: tuple[Any, ...], full: Store
) -> None:
    before = full.client.dbsize()
    with pytest.raises(RedisRefused):
        full.gateway.run(name, keys, args)
    assert full.client.dbsize() == before
