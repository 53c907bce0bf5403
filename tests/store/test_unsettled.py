"""Failures that were handed over: what their records say, and how they are filed."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
import redis

from cogworker_django.core.errors import RedisRefused, UnreadablePayload
from cogworker_django.store.settlement import Filing, Settlement
from cogworker_django.store.settlements import Subject
from cogworker_django.store.store import Store
from cogworker_django.store.unsettled import ASIDE_MOST, filing_of, record_of
from tests.stores import TOUCHY_ARGS, open_store, raw_job, scored
from tests.support import StartServer
from tests.trips import IN_PROGRESS, Traveller

JID = "0" * 24
UNSETTLED, ASIDE = "t:unsettled", "t:quarantine:unsettled:records"


def filing(where: str = "retry", score: float = 1_900_000_000.25, jid: str = JID) -> Filing:
    return Filing(set=where, score=score, entry=raw_job(jid, args=TOUCHY_ARGS))


def wait(client: redis.Redis, *records: bytes) -> None:
    client.rpush(UNSETTLED, *records)


def refused(store: Store) -> Settlement:
    return store.settlements.dead(Subject(token="1:default", jid=JID, orphaned=True), raw_job(), None, lambda: None)


# Handing over


def test_a_record_says_what_was_filed_byte_for_byte(store: Store) -> None:
    """Case B060."""
    assert filing_of(record_of(filing())) == filing()


def test_a_failure_handed_over_is_a_record_counted_and_no_longer_in_progress(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference 9.7, 10.5: with everything that stands beside the failure; its hooks are the filing process's."""
    redis_client.hset(IN_PROGRESS, "1:default", raw_job())
    redis_client.set(f"t:orphanings:{JID}", 1)
    settlement = store.settlements.handed_over(refused(store))
    assert (settlement.settled, settlement.filing) == (None, None)
    assert Traveller(store).go(0, verdicts=[settlement]).results == ["settled"]
    record = cast(bytes, redis_client.lindex(UNSETTLED, 0))
    assert filing_of(record).set == "dead"
    assert filing_of(record).entry == raw_job()
    assert not redis_client.exists(IN_PROGRESS, f"t:orphanings:{JID}", "t:dead")
    assert redis_client.get("t:stats:failed") == b"1"


def test_a_failure_that_is_another_process_s_by_now_is_not_handed_over(store: Store, redis_client: redis.Redis) -> None:
    settlement = store.settlements.handed_over(refused(store))
    assert Traveller(store).go(0, verdicts=[settlement]).results == ["gone"]
    assert not redis_client.exists(UNSETTLED, "t:stats:failed")


# Records


@pytest.mark.parametrize(
    "fields",
    [
        {"set": "queue"},
        {"set": None},
        {"set": ["dead"]},
        {"score": "1"},
        {"score": True},
        {"score": None},
        {"score": 1e300},
        {"score": -(10**400)},
        {"payload": None},
        {"payload": {"jid": "x"}},
    ],
    ids=str,
)
def test_a_record_that_does_not_say_where_a_job_goes_is_none(fields: dict[str, Any]) -> None:
    """Reference 10.5."""
    with pytest.raises(UnreadablePayload, match=f"its {next(iter(fields))} is"):
        filing_of(json.dumps({"set": "retry", "score": 1.5, "payload": "{}", **fields}).encode())


@pytest.mark.parametrize("record", [b"", b"no JSON", b"[]", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_object_are_no_record(record: bytes) -> None:
    with pytest.raises(UnreadablePayload):
        filing_of(record)


@pytest.mark.parametrize("where", ["retry", "dead", "schedule"])
def test_each_set_can_be_named(where: str) -> None:
    assert filing_of(record_of(filing(where))).set == where


# Filing


@pytest.mark.parametrize("where", ["retry", "dead", "schedule"])
def test_a_failure_is_filed_where_its_record_says_and_its_counter_goes(
    where: str, store: Store, redis_client: redis.Redis
) -> None:
    """Reference 9.8, R51: not counted again."""
    record = record_of(filing(where))
    wait(redis_client, record)
    redis_client.set(f"t:orphanings:{JID}", 1)
    assert store.unsettled.file(record, filing(where), JID)
    assert scored(redis_client, where) == [(filing().entry, 1_900_000_000.25)]
    assert not redis_client.exists(UNSETTLED, f"t:orphanings:{JID}", "t:stats:failed")
    assert redis_client.llen("t:schedule_bell") == 1


def test_only_the_first_record_is_filed_and_only_once(store: Store, redis_client: redis.Redis) -> None:
    first, second = (record_of(filing(score=score)) for score in (1.0, 2.0))
    wait(redis_client, first, second)
    assert not store.unsettled.file(second, filing(score=2.0), JID)
    assert store.unsettled.file(first, filing(score=1.0), JID)
    assert not store.unsettled.file(first, filing(score=1.0), JID)
    assert redis_client.lrange(UNSETTLED, 0, -1) == [second]


def test_a_set_of_the_wrong_type_leaves_the_record_where_it_is(store: Store, redis_client: redis.Redis) -> None:
    record = record_of(filing("dead"))
    wait(redis_client, record)
    redis_client.set("t:dead", "no set")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.unsettled.file(record, filing("dead"), JID)
    assert redis_client.lrange(UNSETTLED, 0, -1) == [record]


def test_the_records_come_one_after_the_other_and_one_that_stays_ends_them(
    store: Store, redis_client: redis.Redis
) -> None:
    wait(redis_client, b"1", b"2", b"3")
    seen = []
    for record in store.unsettled.waiting():
        seen.append(record)
        if record != b"2":
            redis_client.lpop(UNSETTLED)
    assert seen == [b"1", b"2"]


def test_an_unusable_record_is_set_aside_for_thirty_days(store: Store, redis_client: redis.Redis) -> None:
    """Reference 10.5, R51."""
    wait(redis_client, b"\xff", b"next")
    assert not store.unsettled.set_aside(b"next")
    assert store.unsettled.set_aside(b"\xff")
    assert redis_client.lrange(ASIDE, 0, -1) == [b"\xff"]
    assert redis_client.lrange(UNSETTLED, 0, -1) == [b"next"]
    assert 2_591_000 < redis_client.ttl(ASIDE) <= 2_592_000


def test_of_the_unusable_ones_the_newest_are_kept(store: Store, redis_client: redis.Redis) -> None:
    redis_client.rpush(ASIDE, *range(ASIDE_MOST))
    wait(redis_client, b"new")
    store.unsettled.set_aside(b"new")
    assert redis_client.llen(ASIDE) == ASIDE_MOST
    assert redis_client.lrange(ASIDE, -1, -1) == [b"new"]
    assert redis_client.lindex(ASIDE, 0) == b"1"


def test_a_full_server_lets_records_be_filed_and_set_aside(start_server: StartServer) -> None:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    record = record_of(filing())
    wait(store.client, record, b"no record")
    store.client.config_set("maxmemory", 1)
    assert store.unsettled.file(record, filing(), JID)
    assert store.unsettled.set_aside(b"no record")
    store.client.close()
