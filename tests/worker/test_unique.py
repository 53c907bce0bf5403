"""Unique jobs through whole workers (reference 17, group Q)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis

from cogworker_django import LockHeld
from cogworker_django.api.jobsets import DeadSet, RetrySet, ScheduledSet
from cogworker_django.definition import job
from cogworker_django.store.store import Store
from tests.worker.rigs import Rig, Rigs, foreign, reaches, until

ALONE = {"unique": "until_executed"}


def tried(rig: Rig, name: str, *args: Any, **fields: Any) -> str | None:
    """Pushes a unique job, if it may come in."""
    return rig.runtime.client.push({"class": name, "args": list(args), **ALONE, **fields})


def locks(client: redis.Redis) -> int:
    return len(list(client.scan_iter("t:unique:*")))


def test_a_job_like_it_is_refused_while_it_waits_or_runs_and_accepted_afterwards(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Reference Q8, Q12."""
    held = rigs.holding()
    rig = rigs()
    assert tried(rig, "hold")
    assert tried(rig, "hold") is None
    rig.start()
    until(lambda: held.started == 1)
    assert tried(rig, "hold") is None
    held.let_go()
    until(lambda: rig.settled() and rig.counts() == (1, 0))
    assert locks(redis_client) == 0
    assert tried(rig, "hold")


def test_it_keeps_its_lock_over_its_retries_and_frees_it_when_it_is_dead(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference Q13, Q14; case B037."""

    @job(name="fail", **ALONE)
    def fail() -> None:
        raise ValueError("no")

    rig = rigs().start()
    assert tried(rig, "fail", retry=1)
    until(lambda: rig.retries() and rig.settled())
    assert tried(rig, "fail", retry=1) is None
    [entry] = RetrySet(rig.store)
    assert entry.retry()
    until(lambda: rig.dead() and rig.settled())
    assert locks(redis_client) == 0
    assert tried(rig, "fail", retry=0)


@pytest.mark.parametrize("answer", ["discard", "kill"])
def test_a_hook_that_ends_it_frees_its_lock(answer: str, rigs: Rigs, redis_client: redis.Redis) -> None:
    @job(name="fail")
    def fail() -> None:
        raise ValueError("no")

    fail.retry_in(lambda: answer)
    rig = rigs().start()
    assert tried(rig, "fail")
    until(lambda: rig.settled() and rig.counts() == (0, 1))
    assert locks(redis_client) == 0


def test_a_job_frees_no_lock_that_another_has_taken_meanwhile(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Case B044: the first ran longer than its lock lasted."""
    held = rigs.holding()
    rig = rigs(concurrency=1).start()
    assert tried(rig, "hold")
    until(lambda: held.started == 1)
    [lock] = redis_client.scan_iter("t:unique:*")
    redis_client.delete(lock)
    second = tried(rig, "hold")
    assert second
    held.let_go()
    until(lambda: held.started == 2)
    assert redis_client.get(lock) == second.encode() or rig.counts() == (2, 0)
    until(lambda: rig.settled() and rig.counts() == (2, 0))
    assert locks(redis_client) == 0


def test_a_release_waits_with_its_verdict_while_redis_is_away(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference 17.3: deferred, and not lost."""
    held = rigs.holding()
    rig = rigs().start()
    assert tried(rig, "hold")
    until(lambda: held.started == 1)
    rig.faults.away = True
    held.let_go()
    until(lambda: rig.worker.exchange.hold.finished == 1)
    assert locks(redis_client) == 1
    rig.faults.away = False
    until(rig.settled)
    assert locks(redis_client) == 0


def test_what_the_run_does_to_its_payload_leaves_no_lock(rigs: Rigs, redis_client: redis.Redis) -> None:
    def forgetful(job: object, payload: dict[str, Any], queue: str, proceed: Any) -> Any:
        del payload["unique_digest"], payload["unique"]
        payload["jid"] = "another"
        return proceed()

    seen = rigs.recording()
    rig = rigs(middleware=[forgetful]).start()
    assert tried(rig, "note", 1)
    until(lambda: seen == [1] and rig.settled())
    assert locks(redis_client) == 0


@pytest.mark.parametrize("odd", [7, "", "../x", ["a"], "*", "0" * 31])
def test_a_foreign_job_with_something_else_for_a_digest_just_runs(
    odd: object, rigs: Rigs, redis_client: redis.Redis
) -> None:
    seen = rigs.recording()
    rig = rigs().start()
    rig.store.client.lpush("t:queue:default", foreign("note", 5, unique_digest=odd))
    until(lambda: seen == [5] and rig.settled())
    assert rig.counts() == (1, 0)
    assert locks(redis_client) == 0


def test_deleted_anywhere_it_may_be_pushed_again(rigs: Rigs, store: Store) -> None:
    """Case B039."""
    rig = rigs()
    for _ in range(2):
        assert tried(rig, "note", at=9e9)
        [scheduled] = ScheduledSet(store)
        assert scheduled.delete()
        assert tried(rig, "note")
        assert store.queue_reader.clear("default") == 1
        assert tried(rig, "note", at=9e9)
        [scheduled] = ScheduledSet(store)
        assert scheduled.kill()
        assert tried(rig, "note", at=9e9)
        assert ScheduledSet(store).clear() == 1
        assert DeadSet(store).clear() == 1


def test_retrying_a_dead_one_says_who_holds_its_lock(rigs: Rigs, store: Store) -> None:
    rig = rigs()
    first = tried(rig, "note", at=9e9)
    [scheduled] = ScheduledSet(store)
    scheduled.kill()
    second = tried(rig, "note", at=9e9)
    [dead] = DeadSet(store)
    for act in (dead.retry, lambda: dead.reschedule(timedelta(minutes=1))):
        with pytest.raises(LockHeld) as caught:
            act()
        assert (caught.value.jid, caught.value.holder) == (first, second)
        expected = f"Job {first} is unique, and job {second} with the same arguments waits or runs."
        assert str(caught.value) == expected
    assert DeadSet(store).retry_all() == 0
    assert DeadSet(store).size == 1
    assert ScheduledSet(store).clear() == 1
    assert dead.retry()


def test_after_a_kill_pushes_are_refused_until_the_recovered_run_has_finished(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Case B036."""
    held = rigs.holding()
    victim = rigs(orphan_threshold=0.5).start()
    assert tried(victim, "hold")
    until(lambda: held.started == 1)
    victim.kill()
    other = rigs(orphan_threshold=0.5).start()
    reaches(held.runs, 2)
    assert tried(other, "hold") is None
    held.let_go()
    until(lambda: other.counts() == (1, 0))
    assert tried(other, "hold")
