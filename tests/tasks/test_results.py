"""Results from wherever something is known of a task: its status, its place, the log of attempts, the history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.tasks import task, task_backends
from django.tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
from django.utils import timezone

from cogworker_django import DeadSet, ProcessDied, Queue, RetrySet, Status
from cogworker_django.api.whereabouts import Place, find_job
from cogworker_django.tasks.known import class_path
from tests.stores import raw_job
from tests.tasks import work
from tests.tasks.making import FAILED, READY, RUNNING, SUCCESSFUL, finished, made, reaches
from tests.worker.rigs import Rig, until

MakeRig = Callable[..., Rig]


@pytest.fixture
def bare(make_rig: MakeRig) -> Rig:
    """A worker that keeps no statuses."""
    return make_rig(status=None)


def lapse(client: redis.Redis, result: Any) -> None:
    """Do what time does to a status."""
    assert client.delete(f"t:status:{result.id}") == 1


def test_of_an_unknown_task_there_is_no_result(rig: Rig) -> None:
    for odd in ("", "unknown", "0" * 24, "*", '"', 5):
        with pytest.raises(TaskResultDoesNotExist):
            task_backends["default"].get_result(odd)  # type: ignore[arg-type]


def test_the_result_of_another_task_is_none_of_this_one(rig: Rig) -> None:
    result = task(work.add).enqueue(1)
    with pytest.raises(TaskResultMismatch):
        task(work.give).get_result(result.id)


def test_a_job_that_is_no_task_has_no_result(rig: Rig, redis_client: redis.Redis) -> None:
    rig.push("tests.tasks.work.add", 1, jid="1" * 24)
    redis_client.lpush("t:queue:default", raw_job("2" * 24))
    redis_client.sadd("t:queues", "default")
    for jid in ("1" * 24, "2" * 24):
        with pytest.raises(TaskResultDoesNotExist):
            task_backends["default"].get_result(jid)


def test_a_task_whose_code_is_gone_has_no_result(rig: Rig, redis_client: redis.Redis) -> None:
    redis_client.lpush("t:queue:default", raw_job("2" * 24, django_task={"backend": "default"}))
    redis_client.sadd("t:queues", "default")
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result("2" * 24)


# Without a status: it has lapsed, or none is kept


@pytest.mark.parametrize("later", [False, True])
def test_a_task_that_waits_is_found_without_its_status(rig: Rig, redis_client: redis.Redis, later: bool) -> None:
    add = task(work.add).using(run_after=timezone.now() + timedelta(hours=1)) if later else task(work.add)
    result = add.enqueue(1, second=2)
    lapse(redis_client, result)
    assert add.get_result(result.id) == result


def test_a_task_that_runs_is_found_without_its_status(bare: Rig) -> None:
    bare.start()
    result = task(work.wait).enqueue()
    reaches(result, lambda latest: latest.status == RUNNING)
    assert result.worker_ids == [bare.identity]
    work.go.set()


def test_a_task_that_was_fetched_ahead_is_ready(rig: Rig, redis_client: redis.Redis) -> None:
    """Nobody has told that it runs."""
    result = task(work.add).enqueue(1)
    lapse(redis_client, result)
    raw: Any = redis_client.rpop("t:queue:default")
    redis_client.hset("t:beats", "host:1:ab", "1700000000.0 0 1")
    redis_client.hset("t:inprogress:host:1:ab", "1:default", raw)
    assert task(work.add).get_result(result.id).status == READY
    found = find_job(result.id, rig.store)
    assert found is not None
    assert (found.place, found.host, found.run_at) == (Place.IN_PROGRESS, "host:1:ab", None)


def test_a_task_that_waits_for_a_retry_or_is_dead_is_found_without_its_status(
    rig: Rig, redis_client: redis.Redis
) -> None:
    rig.start()
    result = made(work.fail, retry=1).enqueue()
    reaches(result, lambda latest: bool(latest.errors))
    lapse(redis_client, result)
    result.refresh()
    assert (result.status, result.attempts) == (READY, 1)
    (entry,) = RetrySet(rig.store)
    entry.retry()
    until(lambda: DeadSet(rig.store).size)
    lapse(redis_client, result)
    result.refresh()
    assert (result.status, result.attempts, len(result.errors)) == (FAILED, 2, 2)
    assert result.finished_at is not None


def test_a_task_that_has_succeeded_is_known_for_longer_than_what_it_returned(bare: Rig) -> None:
    bare.start()
    result = finished(task(work.add).enqueue(1))
    assert (result.status, result.worker_ids) == (SUCCESSFUL, [bare.identity])
    assert result.started_at is not None
    with pytest.raises(ValueError, match=r'not kept: it is kept for as long as COGWORKER\["STATUS"\] says'):
        result.return_value  # noqa: B018


def test_the_history_knows_how_a_task_failed(bare: Rig) -> None:
    """One that its hook has dropped is nowhere else."""
    bare.start()
    result = finished(made(work.fail, retry_in=lambda: "discard").enqueue())
    assert result.status == FAILED
    assert [error.exception_class for error in result.errors] == [work.Trouble]


def test_without_status_and_history_a_task_that_has_ended_is_not_known(make_rig: MakeRig) -> None:
    rig = make_rig(status=None, history=None)
    rig.start()
    result = task(work.note).enqueue(1)
    until(lambda: work.seen and rig.settled())
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


def test_without_a_history_earlier_failures_of_a_success_are_not_known(make_rig: MakeRig) -> None:
    rig = make_rig(history=None)
    rig.start()
    result = task(work.fail).enqueue(1)
    reaches(result, lambda latest: bool(latest.errors))
    (entry,) = RetrySet(rig.store)
    entry.retry()
    assert finished(result).return_value == "at last"
    assert (result.errors, result.worker_ids) == ([], [rig.identity])


def test_a_deleted_task_is_not_known(rig: Rig) -> None:
    result = task(work.add).enqueue(1)
    assert Queue("default", rig.store).delete(result.id)
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


def test_a_task_whose_process_died_too_often_has_failed_of_it(rig: Rig, redis_client: redis.Redis) -> None:
    result = task(work.add).enqueue(1)
    lapse(redis_client, result)
    redis_client.delete("t:queue:default")
    said: dict[str, Any] = {"class": "tests.tasks.work.add", "django_task": {"backend": "default"}}
    entry = raw_job(
        result.id,
        **said,
        error_class="ProcessDied",
        error_message="its process died",
        failed_at=1_700_000_001.5,
    )
    redis_client.zadd("t:dead", {entry: 1_700_000_001.5})
    result.refresh()
    assert result.status == FAILED
    (error,) = result.errors
    assert error.exception_class is ProcessDied
    assert error.traceback == "ProcessDied: its process died\n"


# What must not be believed


def test_a_task_that_a_dead_process_was_running_is_ready_again(rig: Rig, redis_client: redis.Redis) -> None:
    """Its status still says that it works; field notes A5."""
    result = task(work.add).enqueue(1)
    rig.store.statuses.write(result.id, *_working())
    assert Status.status(result.id, rig.store) == "working"
    result.refresh()
    assert result.status == READY


def _working() -> tuple[Any, ...]:
    return ("working", "tests.tasks.work.add", "default", {})


def test_damaged_keys_hide_nothing_else(bare: Rig, redis_client: redis.Redis) -> None:
    result = task(work.add).enqueue(1)
    for key in ("t:schedule", "t:retry", "t:dead", "t:beats", "t:history:all"):
        redis_client.set(key, "damaged")
    assert task(work.add).get_result(result.id).status == READY
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result("0" * 24)


def test_what_a_payload_says_wrongly_of_itself_is_left_out(bare: Rig, redis_client: redis.Redis) -> None:
    task(work.add)
    said: dict[str, Any] = {"class": "tests.tasks.work.add", "django_task": {"backend": 5, "priority": "x"}}
    redis_client.lpush("t:queue:default", raw_job("3" * 24, at="soon", **said | {"created_at": None}))
    redis_client.sadd("t:queues", "default")
    found = task(work.add).get_result("3" * 24)
    assert (found.backend, found.task.priority, found.task.run_after, found.enqueued_at) == ("default", 0, None, None)


@pytest.mark.parametrize(
    ("name", "lines", "path"),
    [
        ("Trouble", ["Traceback:", "a.b.Trouble: no"], "a.b.Trouble"),
        ("Trouble", ["a.b.Trouble: first", "x", "c.Trouble"], "c.Trouble"),
        ("ValueError", ["ValueError: a.b.ValueError: no"], "builtins.ValueError"),
        ("ExceptionGroup", ["  | ExceptionGroup: two (2 sub-exceptions)"], "builtins.ExceptionGroup"),
        ("Several", ["  + Exception Group Traceback:", "  | a.Several: two"], "a.Several"),
        ("ProcessDied", [], "cogworker_django.ProcessDied"),
        ("Local", ["Local: defined in __main__"], "Local"),
    ],
)
def test_the_path_of_an_error_is_read_from_its_traceback(name: str, lines: list[str], path: str) -> None:
    assert class_path(name, lines) == path


def test_a_result_needs_one_round_trip(rig: Rig, redis_client: redis.Redis) -> None:
    """A task that has ended without trouble, or waits, is told of by its status alone, however many jobs there are."""
    result = task(work.add).enqueue(1)
    redis_client.config_resetstat()
    result.refresh()
    stats: Any = redis_client.info("commandstats")
    assert set(stats) == {"cmdstat_get", "cmdstat_config|resetstat"}
    assert stats["cmdstat_get"]["calls"] == 1
