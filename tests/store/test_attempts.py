from __future__ import annotations

from typing import Any

import redis

from cogworker_django.store.attempts import KEPT, MOST, Attempt
from cogworker_django.store.store import Store

JID = "a" * 24
KEY = f"t:job_attempts:{JID}"


def attempt(number: int, outcome: str = "retrying", **fields: Any) -> Attempt:
    return Attempt(
        attempt=number,
        failed_at=1_700_000_000.25 + number,
        outcome=outcome,
        error_class="ValueError",
        error_message="wröng \x00",
        **fields,
    )


def record(store: Store, attempt: Attempt) -> None:
    for command in store.attempts.recorded(JID, attempt):
        store.client.execute_command(*command)


def test_attempts_are_read_oldest_first_as_they_were_recorded(store: Store) -> None:
    first = attempt(1, backtrace=["line 1", "line 2"], host="web:1:abc", duration=0.5)
    second = attempt(2, "dead")
    record(store, first)
    record(store, second)
    assert store.attempts.of(JID) == [first, second]
    assert isinstance(store.attempts.of(JID)[0].failed_at, float)


def test_killed_and_discarded_attempts_are_kept_too(store: Store) -> None:
    record(store, attempt(1, "killed"))
    record(store, attempt(1, "discarded"))
    assert [each.outcome for each in store.attempts.of(JID)] == ["killed", "discarded"]


def test_an_unknown_job_has_none(store: Store) -> None:
    assert store.attempts.of("unknown") == []


def test_only_the_newest_are_kept_and_they_expire(store: Store, redis_client: redis.Redis) -> None:
    for number in range(1, MOST + 4):
        record(store, attempt(number))
    assert [each.attempt for each in store.attempts.of(JID)] == list(range(4, MOST + 4))
    assert 0 < redis_client.ttl(KEY) <= KEPT


def test_clearing_forgets_them_all(store: Store, redis_client: redis.Redis) -> None:
    record(store, attempt(1))
    for command in store.attempts.cleared(JID):
        redis_client.execute_command(*command)
    assert store.attempts.of(JID) == []
    assert redis_client.keys() == []


def test_what_another_version_wrote_is_read_and_what_is_damaged_is_left_out(
    store: Store, redis_client: redis.Redis
) -> None:
    old = b'{"attempt":1,"failed_at":5.0,"outcome":"dead","error_class":"E","error_message":"m","more":true}'
    redis_client.rpush(KEY, old, "not json", "[]", '{"attempt":2}')
    for right, wrong in (("5.0", '"then"'), ("5.0", "9" * 400), ('"E"', "null"), ('"m"', "{}"), ("1,", "1.5,")):
        redis_client.rpush(KEY, old.decode().replace(right, wrong))
    assert [each.attempt for each in store.attempts.of(JID)] == [1]
