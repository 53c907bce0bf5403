"""What each fate of a job writes; the commands are run by a real trip."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis

from cogworker_django.store.attempts import Attempt
from cogworker_django.store.settlement import Settlement
from cogworker_django.store.settlements import Subject
from cogworker_django.store.store import Store
from tests.stores import members, open_store, raw_job, scored
from tests.trips import IN_PROGRESS, Traveller

JID = "0" * 24
TOKEN = "1:default"
ENTRY = json.dumps({"jid": JID, "args": [130775545883395173, 1.0, "ä\0"]}, ensure_ascii=False).encode()

SUBJECT = Subject(token=TOKEN, jid=JID)
ORPHANED = Subject(token=TOKEN, jid=JID, orphaned=True)


@pytest.fixture
def settle(store: Store, redis_client: redis.Redis) -> Callable[[Settlement], None]:
    """Settles a job that is in progress, with an orphan counter and an earlier failure."""
    redis_client.hset(IN_PROGRESS, TOKEN, raw_job(JID))
    redis_client.set(f"t:orphanings:{JID}", 2)
    redis_client.rpush(f"t:job_attempts:{JID}", "{}")
    process = Traveller(store)

    def run(settlement: Settlement) -> None:
        assert process.go(0, verdicts=[settlement]).results == ["settled"]

    return run


def attempt(outcome: str) -> Attempt:
    return Attempt(attempt=2, failed_at=5.5, outcome=outcome, error_class="E", error_message="no")


def test_a_success_clears_the_attempts_and_the_orphan_counter(
    store: Store, settle: Callable[[Settlement], None], redis_client: redis.Redis
) -> None:
    """Engine 3.9; reference R27, R38."""
    settle(store.settlements.success(ORPHANED))
    assert redis_client.keys(f"t:*{JID}") == []
    assert redis_client.get("t:stats:processed") == b"1"


def test_the_orphan_counter_is_touched_only_where_there_may_be_one(
    store: Store, settle: Callable[[Settlement], None], redis_client: redis.Redis
) -> None:
    settle(store.settlements.success(SUBJECT))
    assert redis_client.get(f"t:orphanings:{JID}") == b"2"


def test_a_retry_is_filed_with_its_bytes_when_it_is_due_on_the_servers_clock(
    store: Store, settle: Callable[[Settlement], None], redis_client: redis.Redis
) -> None:
    """Case B060."""
    store.clock.tell(1_000_000.0)
    settle(store.settlements.retry(ORPHANED, ENTRY, 90.5, attempt("retrying")))
    [(entry, due)] = scored(redis_client, "retry")
    assert entry == ENTRY
    assert due == pytest.approx(1_000_090.5, abs=1)
    assert [each.outcome for each in store.attempts.of(JID)] == ["retrying"]
    assert not redis_client.exists(f"t:orphanings:{JID}")
    assert redis_client.get("t:stats:failed") == b"1"


def test_a_death_is_filed_now_and_keeps_dead_within_its_limits(redis_url: str, redis_client: redis.Redis) -> None:
    """Case B111."""
    store = open_store(redis_url, dead_max_jobs=2, dead_max_age=1000.0)
    now = store.jobsets.now()
    store.clock.tell(now)
    redis_client.zadd("t:dead", {"too old": now - 1001, "first": now - 30, "second": now - 20})
    redis_client.hset(IN_PROGRESS, TOKEN, "job")
    death = store.settlements.dead(ORPHANED, ENTRY, attempt("dead"), None)
    assert Traveller(store).go(0, verdicts=[death]).results == ["settled"]
    assert members(redis_client, "dead") == [b"second", ENTRY]
    assert redis_client.zscore("t:dead", ENTRY) == pytest.approx(now, abs=1)


def test_a_death_without_an_attempt_writes_none(
    store: Store, settle: Callable[[Settlement], None], redis_client: redis.Redis
) -> None:
    redis_client.delete(f"t:job_attempts:{JID}")
    settle(store.settlements.dead(SUBJECT, ENTRY, None, None))
    assert not redis_client.exists(f"t:job_attempts:{JID}")


def test_a_discarded_job_is_counted_and_in_the_attempts_log_and_nowhere_else(
    store: Store, settle: Callable[[Settlement], None], redis_client: redis.Redis
) -> None:
    """Reference P35."""
    settle(store.settlements.discarded(ORPHANED, attempt("discarded")))
    assert [each.outcome for each in store.attempts.of(JID)] == ["discarded"]
    assert redis_client.get("t:stats:failed") == b"1"
    assert members(redis_client, "retry") == members(redis_client, "dead") == []
    assert not redis_client.exists(IN_PROGRESS)


def test_a_settlement_written_again_after_a_lost_reply_has_the_same_bytes(store: Store) -> None:
    """A second entry of the same job would run it twice."""
    settlement = store.settlements.retry(SUBJECT, ENTRY, 10.0, attempt("retrying"))
    assert settlement.packed() == settlement.packed()
    assert settlement.packed()[2] is settlement.essential


def test_the_attempts_of_one_job_are_kept_up_to_twenty_five(
    store: Store, settle: Callable[[Settlement], None], redis_client: redis.Redis
) -> None:
    """Reference A3, A4."""
    redis_client.rpush(f"t:job_attempts:{JID}", *["{}"] * 30)
    settle(store.settlements.retry(SUBJECT, ENTRY, 1.0, attempt("retrying")))
    assert redis_client.llen(f"t:job_attempts:{JID}") == 25
    assert redis_client.ttl(f"t:job_attempts:{JID}") > 0
