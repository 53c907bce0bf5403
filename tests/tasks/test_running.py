"""Tasks through whole workers: the framework's life of a task, on ours."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.dispatch import Signal
from django.tasks import TaskResult, task, task_backends
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.utils import timezone

from cogworker_django import JobTimeout, RetrySet, Status
from cogworker_django.api.cancelling import cancel
from cogworker_django.tasks import CogworkerBackend, UnstorableResult
from tests.tasks import work
from tests.tasks.making import FAILED, READY, RUNNING, SUCCESSFUL, finished, made, reaches
from tests.worker.rigs import Rig, until


def has_failed(result: Any, times: int) -> None:
    """Wait until a task has failed so often."""
    reaches(result, lambda latest: len(latest.errors) == times)


class Heard:
    """What signals told: name, sender, the result's status at that time, the exception in the air."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any, Any, Any]] = []
        self.results: list[TaskResult[..., Any]] = []

    def listen(self, name: str, signal: Signal) -> Callable[..., None]:
        def receiver(sender: Any, task_result: TaskResult[..., Any], **_: Any) -> None:
            self.results.append(task_result)
            self.told.append((name, sender, task_result.status, sys.exception()))

        signal.connect(receiver, weak=False)
        return receiver

    def names(self) -> list[str]:
        return [name for name, *_ in self.told]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """The framework's signals."""
    ear = Heard()
    signals = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    receivers = [(signal, ear.listen(name, signal)) for name, signal in signals.items()]
    yield ear
    for signal, receiver in receivers:
        signal.disconnect(receiver)


def test_a_task_runs_and_its_result_is_kept(rig: Rig) -> None:
    before = timezone.now()
    result = task(work.add).enqueue(1, second=2)
    assert (result.status, result.args, result.kwargs) == (READY, [1], {"second": 2})
    assert (result.started_at, result.finished_at, result.last_attempted_at) == (None, None, None)
    assert (result.errors, result.worker_ids, result.attempts, result.backend) == ([], [], 0, "default")
    assert not result.is_finished
    with pytest.raises(ValueError, match="not finished"):
        result.return_value  # noqa: B018
    rig.start()
    finished(result)
    assert (result.status, result.return_value, result.worker_ids) == (SUCCESSFUL, 3, [rig.identity])
    assert result.attempts == 1
    assert result.enqueued_at is not None
    assert result.started_at is not None
    assert result.finished_at is not None
    assert before <= result.enqueued_at <= result.started_at <= result.finished_at <= timezone.now()
    assert result.last_attempted_at == result.started_at


def test_a_result_is_found_by_its_id(rig: Rig) -> None:
    add = task(work.add)
    enqueued = add.enqueue(1, second=2)
    assert add.get_result(enqueued.id) == enqueued
    rig.start()
    finished(enqueued)
    found = add.get_result(enqueued.id)
    assert found == enqueued
    assert found.return_value == 3
    assert found.task == add


def test_a_task_is_a_job_like_any_other(rig: Rig, redis_client: redis.Redis) -> None:
    """Contract 9: it shows in the store, in statuses and in the history as every job does."""
    result = task(work.add, queue_name="low").enqueue(1)
    (raw,) = redis_client.lrange("t:queue:low", 0, -1)
    assert b'"class":"tests.tasks.work.add"' in raw
    found = Status.get(result.id, rig.store)
    assert found is not None
    assert (found["status"], found["class"], found["queue"]) == ("queued", "tests.tasks.work.add", "low")
    assert "django_task" not in found


def test_a_result_that_is_none_is_none(rig: Rig) -> None:
    rig.start()
    assert finished(task(work.give).enqueue(None)).return_value is None


@pytest.mark.parametrize("value", [[1, "a", None, 2.5], {"a": {"b": []}}, "", 0, True])
def test_a_result_comes_back_as_json_gives_it(rig: Rig, value: Any) -> None:
    rig.start()
    assert finished(task(work.give).enqueue(value)).return_value == value


def test_an_async_task_runs(rig: Rig) -> None:
    rig.start()
    assert finished(task(work.slowly).enqueue(4)).return_value == 8


def test_a_task_that_runs_is_running(rig: Rig) -> None:
    """With its worker and since when, before anything was told of it to others."""
    rig.start()
    waiting = task(work.wait)
    result = waiting.enqueue()
    reaches(result, lambda latest: latest.status == RUNNING)
    assert (result.worker_ids, result.attempts) == ([rig.identity], 1)
    assert result.started_at is not None
    assert waiting.get_result(result.id).args == []
    work.go.set()
    assert finished(result).return_value == "done"


def test_a_task_that_failed_waits_for_its_retry_and_is_ready(rig: Rig) -> None:
    """Field notes: READY between retries, with growing errors and workers."""
    rig.start()
    result = task(work.fail).enqueue(2)
    for failures in (1, 2):
        has_failed(result, failures)
        assert result.status == READY
        assert result.attempts == failures
        assert result.finished_at is None
        entry = RetrySet(rig.store).find(result.id)
        assert entry is not None
        entry.retry()
    finished(result)
    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, "at last", 3)
    assert [error.exception_class for error in result.errors] == [work.Trouble, work.Trouble]
    assert result.started_at is not None
    assert result.last_attempted_at is not None
    assert result.started_at < result.last_attempted_at


@pytest.mark.parametrize(
    ("function", "path", "said"),
    [
        (work.fail, "tests.tasks.work.Trouble", "no such luck"),
        (work.fail_inside, "tests.tasks.work.Codes.Inner", "lines"),
        (work.fail_builtin, "builtins.KeyError", "KeyError: 'key'"),
        (work.fail_slowly, "tests.tasks.work.Trouble", "asleep"),
    ],
)
def test_a_task_without_retries_fails_with_its_error(rig: Rig, function: Any, path: str, said: str) -> None:
    rig.start()
    result = finished(made(function, retry=0).enqueue())
    assert result.status == FAILED
    (error,) = result.errors
    assert error.exception_class_path == path
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert said in error.traceback
    assert function.__name__ in error.traceback
    assert (result.worker_ids, result.attempts) == ([rig.identity], 1)
    assert result.started_at <= result.finished_at
    with pytest.raises(ValueError, match="failed"):
        result.return_value  # noqa: B018


def test_what_is_no_json_fails_at_once_and_does_not_run_again(rig: Rig) -> None:
    """The framework fails such a task; guarantee 2: what has run is not run again for it."""
    rig.start()
    result = finished(task(work.odd).enqueue())
    assert result.status == FAILED
    (error,) = result.errors
    assert error.exception_class is UnstorableResult
    assert issubclass(error.exception_class, TypeError)
    assert "Unsupported type: <class 'object'>" in error.traceback
    assert work.seen == ["odd"]


def test_a_result_that_is_too_large_is_missed_by_those_who_ask(rig: Rig) -> None:
    rig.start()
    result = finished(task(work.give).enqueue("x" * 70_000))
    assert result.status == SUCCESSFUL
    with pytest.raises(ValueError, match=r"was not kept: result: 70,002 bytes"):
        result.return_value  # noqa: B018


def test_a_task_gets_its_context(rig: Rig) -> None:
    """The attempt counts from 1, over retries too."""
    rig.start()
    result = finished(task(takes_context=True)(work.with_context).enqueue(7))
    assert result.return_value == [1, 7, "RUNNING"]
    (context,) = work.seen
    assert context.task_result.id == result.id
    assert context.task_result.worker_ids == [rig.identity]


def test_signals_are_sent_as_the_framework_says(rig: Rig, heard: Heard) -> None:
    result = task(work.add).enqueue(1)
    assert heard.told == [("enqueued", CogworkerBackend, READY, None)]
    assert heard.results == [result]
    rig.start()
    finished(result)
    assert heard.told[1:] == [
        ("started", CogworkerBackend, RUNNING, None),
        ("finished", CogworkerBackend, SUCCESSFUL, None),
    ]
    last = heard.results[-1]
    assert (last.id, last.return_value, last.worker_ids) == (result.id, 2, [rig.identity])
    assert last.finished_at is not None


def test_async_tasks_send_the_same_signals(rig: Rig, heard: Heard) -> None:
    result = task(work.slowly).enqueue(1)
    rig.start()
    finished(result)
    assert heard.names() == ["enqueued", "started", "finished"]


def test_finished_is_told_once_when_a_task_has_failed_for_good(rig: Rig, heard: Heard) -> None:
    """Not after each attempt; with the error where the framework has it."""
    result = made(work.fail, retry=1).enqueue()
    rig.start()
    until(lambda: RetrySet(rig.store).size)
    assert heard.names() == ["enqueued", "started"]
    (entry,) = RetrySet(rig.store)
    entry.retry()
    until(lambda: len(heard.told) == 4)
    assert heard.names() == ["enqueued", "started", "started", "finished"]
    _, _, status, error = heard.told[-1]
    assert status == FAILED
    assert isinstance(error, work.Trouble)
    assert [each.exception_class for each in heard.results[-1].errors] == [work.Trouble] * 2
    assert heard.results[-1].worker_ids == [rig.identity] * 2
    assert heard.results[-1].id == result.id


def test_a_task_that_its_hook_drops_has_finished(rig: Rig, heard: Heard) -> None:
    asked: list[Any] = []

    def hook(count: int, error: BaseException) -> str:
        asked.append((count, type(error)))
        return "discard"

    result = made(work.fail, retry_in=hook).enqueue()
    rig.start()
    finished(result)
    assert (result.status, asked) == (FAILED, [(0, work.Trouble)])
    until(lambda: heard.names() == ["enqueued", "started", "finished"])
    assert isinstance(heard.told[-1][3], work.Trouble)
    assert heard.results[-1].worker_ids == [rig.identity]


def test_a_task_has_a_hook_for_its_death(rig: Rig) -> None:
    dead: list[Any] = []

    def hook(payload: Any, error: BaseException) -> None:
        dead.append((payload["jid"], type(error)))

    rig.start()
    buried = made(work.fail, retry=0, retries_exhausted=hook)
    result = finished(buried.enqueue())
    until(lambda: dead)
    assert dead == [(result.id, work.Trouble)]


def test_a_receiver_that_fails_changes_nothing(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """Contract 9: a receiver's error never fails a job."""

    def receiver(**_: Any) -> None:
        raise RuntimeError("receiver")

    signals = (task_enqueued, task_started, task_finished)
    for signal in signals:
        signal.connect(receiver)
    rig.start()
    try:
        with caplog.at_level(logging.CRITICAL, logger="django.dispatch"):
            assert finished(task(work.add).enqueue(1)).status == SUCCESSFUL
    finally:
        for signal in signals:
            signal.disconnect(receiver)


def test_the_framework_logs_the_life_of_a_task(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="django.tasks")
    result = made(work.fail, retry=0).enqueue()
    rig.start()
    finished(result)

    def lines() -> list[tuple[int, str]]:
        return [(record.levelno, record.getMessage()) for record in caplog.records if record.name == "django.tasks"]

    until(lambda: len(lines()) == 3)
    about = f"Task id={result.id} path=tests.tasks.work.fail"
    assert lines() == [
        (logging.DEBUG, f"{about} enqueued backend=default"),
        (logging.INFO, f"{about} state=RUNNING"),
        (logging.ERROR, f"{about} state=FAILED"),
    ]
    assert caplog.records[-1].exc_info or any(record.exc_info for record in caplog.records)


def test_a_backend_is_what_the_framework_takes_it_for(rig: Rig) -> None:
    backend = task_backends["default"]
    assert isinstance(backend, CogworkerBackend)
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert task(work.add).get_backend() is backend


@pytest.mark.parametrize("function", [work.loop, work.sleep])
def test_a_task_that_takes_too_long_fails(rig: Rig, function: Any) -> None:
    rig.start()
    result = finished(made(function, timeout=0.05, retry=0).enqueue())
    assert result.status == FAILED
    (error,) = result.errors
    assert issubclass(error.exception_class, JobTimeout)


def test_a_task_that_is_too_late_to_start_has_failed(rig: Rig) -> None:
    """Without an error of its own: it has never run."""
    late = made(work.note, expires_in=timedelta(seconds=60)).using(expires_in=0.01)
    result = late.enqueue(1)
    time.sleep(0.02)
    rig.start()
    finished(result)
    assert (result.status, result.errors, work.seen) == (FAILED, [], [])
    assert result.finished_at is not None


@pytest.mark.parametrize("later", [False, True])
def test_a_task_that_is_cancelled_has_failed(rig: Rig, later: bool) -> None:
    waiting = made(work.note, priority=60)
    result = (waiting.using(run_after=timezone.now() + timedelta(hours=1)) if later else waiting).enqueue(1)
    assert cancel(result.id, rig.store)
    result.refresh()
    assert (result.status, result.args) == (FAILED, [1])
    assert result.finished_at is not None
