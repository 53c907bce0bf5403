from __future__ import annotations

import math

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.jobset_reader import BYTES_AT_ONCE, Entry, SetName, entries, jid_of
from cogworker_django.store.store import Store
from tests.stores import raw_job


def fill(client: redis.Redis, key: str, number: int, score: float | None = None) -> list[bytes]:
    raws = [raw_job(f"{n:024}") for n in range(number)]
    client.zadd(key, {raw: n if score is None else score for n, raw in enumerate(raws)})
    return raws


def test_due_reads_what_has_come_on_the_servers_clock_earliest_first(store: Store, redis_client: redis.Redis) -> None:
    now = store.jobsets.now()
    redis_client.zadd("t:schedule", {b"later": now + 1000, b"second": now - 5, b"first": now - 10})
    told, found = store.jobsets.due(SetName.SCHEDULE)
    assert [entry.member for entry in found] == [b"first", b"second"]
    assert told == pytest.approx(now, abs=5)


def test_due_reads_no_more_than_was_asked_for(store: Store, redis_client: redis.Redis) -> None:
    raws = fill(redis_client, "t:retry", 120)
    assert [entry.member for entry in store.jobsets.due(SetName.RETRY, 70)[1]] == raws[:70]
    assert len(store.jobsets.due(SetName.RETRY)[1]) == 120


def test_due_reads_fewer_when_they_are_large_and_one_at_least(store: Store, redis_client: redis.Redis) -> None:
    size = BYTES_AT_ONCE // 2
    redis_client.zadd("t:schedule", {str(n).encode() * size: n for n in range(5)})
    assert len(store.jobsets.due(SetName.SCHEDULE)[1]) == 2
    redis_client.delete("t:schedule")
    redis_client.zadd("t:schedule", {b"x" * (BYTES_AT_ONCE + 1): 0, b"y": 1})
    assert len(store.jobsets.due(SetName.SCHEDULE)[1]) == 1


def test_lowest_passes_over_what_was_asked_and_reads_what_is_not_due_too(
    store: Store, redis_client: redis.Redis
) -> None:
    redis_client.zadd("t:dead", {b"a": 1, b"b": 2, b"c": 9_999_999_999})
    assert [entry.member for entry in store.jobsets.lowest(SetName.DEAD, skip=1)[1]] == [b"b", b"c"]


def test_a_set_of_the_wrong_type_is_refused_when_read(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:schedule", "no set")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.jobsets.due(SetName.SCHEDULE)


def test_earliest_knows_both_sets_and_calls_a_damaged_one_due(store: Store, redis_client: redis.Redis) -> None:
    assert store.jobsets.earliest() == (None, None)
    redis_client.zadd("t:retry", {b"a": 7, b"b": 6.25})
    assert store.jobsets.earliest() == (None, 6.25)
    redis_client.set("t:schedule", "no set")
    assert store.jobsets.earliest() == (-math.inf, 6.25)


def test_pages_go_by_rank_from_either_end(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:dead", {b"a": 1, b"b": 2, b"c": 3})
    assert store.jobsets.page(SetName.DEAD, 0, 1) == [Entry(b"a", 1.0), Entry(b"b", 2.0)]
    assert store.jobsets.page(SetName.DEAD, 0, 1, newest_first=True) == [Entry(b"c", 3.0), Entry(b"b", 2.0)]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("score", [None, 5.0], ids=["different scores", "equal scores"])
def test_a_walk_shows_every_entry_once_in_order(
    store: Store, redis_client: redis.Redis, score: float | None, newest_first: bool
) -> None:
    raws = fill(redis_client, "t:dead", 123, score)
    seen = [entry.member for entry in store.jobsets.walk(SetName.DEAD, newest_first=newest_first)]
    assert seen == (raws[::-1] if newest_first else raws)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("score", [None, 5.0], ids=["different scores", "equal scores"])
def test_a_walk_that_deletes_what_it_sees_still_sees_everything(
    store: Store, redis_client: redis.Redis, score: float | None, newest_first: bool
) -> None:
    fill(redis_client, "t:retry", 123, score)
    for entry in store.jobsets.walk(SetName.RETRY, newest_first=newest_first, size=10):
        store.jobsets.remove(SetName.RETRY, [entry.member])
    assert redis_client.zcard("t:retry") == 0


@pytest.mark.parametrize("score", [None, 5.0], ids=["different scores", "equal scores"])
def test_a_walk_that_deletes_the_last_of_each_page_neither_skips_nor_repeats(
    store: Store, redis_client: redis.Redis, score: float | None
) -> None:
    raws = fill(redis_client, "t:retry", 45, score)
    seen = []
    for entry in store.jobsets.walk(SetName.RETRY, size=10):
        seen.append(entry.member)
        if len(seen) % 10 == 0:
            redis_client.zrem("t:retry", entry.member)
    assert seen == raws


def test_a_walk_goes_on_behind_many_seen_entries_of_the_same_score(store: Store, redis_client: redis.Redis) -> None:
    raws = fill(redis_client, "t:retry", 45, 5.0)
    seen = []
    for entry in store.jobsets.walk(SetName.RETRY, size=10):
        seen.append(entry.member)
        if len(seen) == 40:
            redis_client.zrem("t:retry", entry.member)
    assert seen == raws


def test_a_walk_is_not_misled_by_what_is_added_in_front_or_rescheduled(store: Store, redis_client: redis.Redis) -> None:
    raws = fill(redis_client, "t:schedule", 30)
    seen = []
    for entry in store.jobsets.walk(SetName.SCHEDULE, size=10):
        seen.append(entry.member)
        redis_client.zadd("t:schedule", {f"new {len(seen)}": -len(seen)})
        if len(seen) == 10:
            redis_client.zadd("t:schedule", {entry.member: -1000})
    assert seen == raws


def test_a_job_is_found_by_its_exact_id_among_lookalikes(store: Store, redis_client: redis.Redis) -> None:
    wanted = raw_job("abc")
    redis_client.zadd("t:retry", {raw_job("abcd"): 1, raw_job("x", args=["abc"]): 2, wanted: 3, b'"abc': 4})
    assert store.jobsets.find(SetName.RETRY, "abc") == Entry(wanted, 3.0)
    assert store.jobsets.find(SetName.RETRY, "ab") is None


def test_a_search_goes_through_a_set_of_many_steps(store: Store, redis_client: redis.Redis) -> None:
    raws = fill(redis_client, "t:dead", 5_000)
    assert store.jobsets.find(SetName.DEAD, f"{4321:024}") == Entry(raws[4321], 4321.0)
    assert store.jobsets.find(SetName.DEAD, "f" * 24) is None


@pytest.mark.parametrize("jid", ["a*", "[abc]", "a?c", "a\\b", "^", "a-c"])
def test_an_id_is_no_pattern(store: Store, redis_client: redis.Redis, jid: str) -> None:
    redis_client.zadd("t:retry", {raw_job(jid): 1, raw_job("abc"): 2})
    found = store.jobsets.find(SetName.RETRY, jid)
    assert found is not None
    assert jid_of(found.member) == jid


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"{}", b'{"jid":5}', b"\xff\xfe", b"[" * 200_000])
def test_bytes_that_are_no_job_have_no_id(raw: bytes) -> None:
    assert jid_of(raw) == ""


def test_entries_are_read_as_any_version_of_the_client_gives_them() -> None:
    expected = [Entry(b"a", 1.5), Entry(b"b", 2.0)]
    assert entries([b"a", b"1.5", b"b", b"2"]) == expected
    assert entries([[b"a", 1.5], [b"b", 2.0]]) == expected
    assert entries([(b"a", 1.5), (b"b", 2.0)]) == expected
    assert entries([]) == []
