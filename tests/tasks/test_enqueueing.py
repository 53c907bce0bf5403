"""Enqueuing tasks: what is checked, what is written, and what refuses."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import django
import pytest
import redis
from django.db import models, transaction
from django.tasks import TaskResultStatus, task, task_backends
from django.tasks.exceptions import InvalidTask
from django.tasks.signals import task_enqueued
from django.test import override_settings
from django.utils import timezone
from django.utils.safestring import mark_safe

from cogworker_django import Client, RedisUnavailable, ScheduledSet, conf, definition, periodic, runtime, testing
from cogworker_django.core.registry import Registry
from cogworker_django.definition import job
from cogworker_django.tasks import CogworkerTask, TaskRefused
from tests.tasks import work
from tests.tasks.conftest import BACKEND, TASKS
from tests.tasks.making import READY, SUCCESSFUL, finished, made
from tests.worker.rigs import Rig

since_61 = pytest.mark.skipif(django.VERSION < (6, 1), reason="the decorator takes no options before Django 6.1")


class Size(models.TextChoices):
    LARGE = "large"


@pytest.fixture
def enqueued() -> Iterator[list[Any]]:
    """The results that the framework's signal told of."""
    told: list[Any] = []

    def receiver(task_result: Any, **_: Any) -> None:
        told.append(task_result)

    task_enqueued.connect(receiver)
    yield told
    task_enqueued.disconnect(receiver)


def queued(client: redis.Redis, name: str = "default") -> list[dict[str, Any]]:
    """The payloads on a queue, the next one first."""
    return [json.loads(raw) for raw in client.lrange(f"t:queue:{name}", 0, -1)][::-1]


# What a task may be


def test_the_rules_of_the_framework_hold(rig: Rig) -> None:
    def inner() -> None: ...

    bad: list[tuple[Any, str]] = [
        (lambda: task(inner), "module level"),
        (lambda: made(work.add, takes_context=True), "first argument of 'context'"),
        (lambda: task(work.add, queue_name="unknown"), "Queue 'unknown' is not valid"),
        (lambda: task(work.add).using(run_after=datetime(2030, 1, 1)), "aware datetime"),
        (lambda: task(work.add).using(priority=101), "priority"),
        (lambda: task(work.add).using(priority=1.5), "priority"),  # type: ignore[arg-type]
    ]
    for make, message in bad:
        with pytest.raises(InvalidTask, match=message):
            make()


@override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": []}})
def test_any_queue_that_a_job_may_have_is_one_for_tasks_if_none_is_named(rig: Rig) -> None:
    assert task(work.add, queue_name="any:thing").enqueue(1).task.queue_name == "any:thing"
    with pytest.raises(InvalidTask, match="queue name 'no, not this' is not allowed"):
        task(work.add, queue_name="no, not this")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"retry": -1}, "retry must be 0 or more"),
        ({"unique": "always"}, "unique must be"),
        ({"on_commit": 1}, "on_c"),
    ],
)
def test_options_are_those_of_jobs_and_are_checked_at_once(rig: Rig, option: Any, message: str) -> None:
    with pytest.raises(InvalidTask, match=message):
        made(work.add, **option)
    with pytest.raises(InvalidTask, match=message):
        made(work.add).using(**option)


def test_an_option_that_does_not_exist_is_refused(rig: Rig) -> None:
    with pytest.raises(TypeError, match="colour"):
        made(work.add).using(colour="red")  # type: ignore[call-arg]


def test_a_function_is_either_a_job_or_a_task(rig: Rig) -> None:
    job(name="tests.tasks.work.add")(work.note)
    with pytest.raises(InvalidTask, match="is a job already"):
        task(work.add)


@since_61
def test_the_decorator_takes_the_options(rig: Rig, redis_client: redis.Redis) -> None:
    decorated: Any = task
    decorated(work.add, retry=3, unique="until_executed").enqueue(1)
    (payload,) = queued(redis_client)
    assert (payload["retry"], payload["unique"]) == (3, "until_executed")


def test_a_call_may_replace_options_and_takes_them_back(rig: Rig, redis_client: redis.Redis) -> None:
    add = made(work.add, retry=3, on_commit=True)
    add.enqueue(1)
    add.using(retry=False, unique="until_executed").enqueue(2)
    add.using(retry=None, on_commit=None).enqueue(3)
    assert [payload["retry"] for payload in queued(redis_client)] == [3, False, True]
    assert [payload.get("unique") for payload in queued(redis_client)] == [None, "until_executed", None]


@override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"retry": 4}}})
def test_the_backend_says_what_holds_for_tasks_that_do_not(rig: Rig, redis_client: redis.Redis) -> None:
    made(work.add).enqueue(1)
    made(work.add, retry=0).enqueue(1)
    Client.push({"class": "tests.tasks.work.add", "args": [1]})
    assert [payload["retry"] for payload in queued(redis_client)] == [4, 0, 4]


@pytest.mark.skipif(django.VERSION < (6, 1), reason="tasks cannot be pickled before Django 6.1")
def test_a_task_is_pickled_by_its_place(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    add = made(work.add, retry=3)
    monkeypatch.setattr(work, "add", add)
    copy = pickle.loads(pickle.dumps(add))
    assert copy == add
    assert isinstance(copy, CogworkerTask)
    assert hash(copy) == hash(add)


# What is written


def test_a_task_that_is_due_later_waits_for_its_time(rig: Rig) -> None:
    when = timezone.now() + timedelta(hours=1)
    result = task(work.add).using(run_after=when, queue_name="low").enqueue(1)
    entry = ScheduledSet(rig.store).find(result.id)
    assert entry is not None
    assert entry.at == when
    assert entry.queue == "low"
    found = task(work.add).get_result(result.id)
    assert (found.status, found.task.run_after, found.task.queue_name) == (READY, when, "low")


def test_a_task_whose_time_has_passed_runs_at_once(rig: Rig) -> None:
    rig.start()
    result = task(work.add).using(run_after=timezone.now() - timedelta(hours=1)).enqueue(1)
    assert finished(result).return_value == 2


@override_settings(USE_TZ=False)
def test_times_are_naive_in_a_project_without_zones(rig: Rig) -> None:
    when = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)
    result = task(work.add).using(run_after=when).enqueue(1)
    entry = ScheduledSet(rig.store).find(result.id)
    assert entry is not None
    assert entry.at.replace(tzinfo=None) == when
    assert result.enqueued_at is not None
    assert result.enqueued_at.tzinfo is None
    assert task(work.add).get_result(result.id).task.run_after == when


def test_what_the_framework_takes_for_json_is_made_json(rig: Rig) -> None:
    rig.start()
    given = {"size": Size.LARGE, "text": mark_safe("<b>"), "bytes": b"\xc3\xa4", "pair": (1, 2)}
    plain = {"size": "large", "text": "<b>", "bytes": "\u00e4", "pair": [1, 2]}
    result = task(work.give).enqueue(given)
    assert result.args == [plain]
    assert finished(result).return_value == plain
    assert task(work.give).get_result(result.id).args == [plain]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (object(), r"args\[0\]: object is not a JSON type"),
        ({"x": {1, 2}}, r'args\[0\]\["x"\]'),
        ([float("nan")], r"args\[0\]\[0\]"),
        (b"\xff", r"args\[0\]: bytes is not"),
        ({1: "a"}, "the key 1 is not a string"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(
    rig: Rig, redis_client: redis.Redis, enqueued: list[Any], value: Any, place: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=place):
        task(work.give).enqueue(value)
    assert queued(redis_client) == enqueued == []


def test_a_value_within_itself_is_refused(rig: Rig) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        task(work.give).enqueue(endless)


def test_a_call_that_the_function_does_not_take_is_refused(rig: Rig, redis_client: redis.Redis) -> None:
    """Contract 2: at the call, not in a worker later; the context is not the caller's to give."""
    with pytest.raises(TypeError, match=r"tests\.tasks\.work\.add\.perform: missing a required argument: 'first'"):
        task(work.add).enqueue()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="too many positional"):
        task(work.add).enqueue(1, 2, 3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing a required argument: 'value'"):
        task(takes_context=True)(work.with_context).enqueue()  # type: ignore[call-arg]
    assert queued(redis_client) == []


def test_redis_away_is_told_and_nothing_is_signalled(rig: Rig, enqueued: list[Any]) -> None:
    add = task(work.add)
    with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1/0"}):
        runtime.install(conf.build_runtime)
        with pytest.raises(RedisUnavailable):
            add.enqueue(1)
        with pytest.raises(RedisUnavailable):
            add.get_result("0" * 24)
    assert enqueued == []


# Commits


def test_a_task_waits_for_the_commit_and_so_does_its_signal(
    rig: Rig, redis_client: redis.Redis, enqueued: list[Any]
) -> None:
    """Case B106; its result is there at once."""
    add = made(work.add, on_commit=True)
    with transaction.atomic():
        result = add.enqueue(1)
        assert result.status == READY
        assert queued(redis_client) == enqueued == []
    assert [payload["jid"] for payload in queued(redis_client)] == [result.id]
    assert enqueued == [result]


def test_after_a_rollback_a_task_is_nowhere(rig: Rig, redis_client: redis.Redis, enqueued: list[Any]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        made(work.add, on_commit="default").enqueue(1)
        raise ZeroDivisionError
    assert queued(redis_client) == enqueued == []


@override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"on_commit": True}}})
def test_the_backend_may_say_that_tasks_wait(rig: Rig, redis_client: redis.Redis) -> None:
    with transaction.atomic():
        made(work.add).enqueue(1)
        made(work.add).using(on_commit=False).enqueue(2)
        assert [payload["args"] for payload in queued(redis_client)] == [[2]]
    assert [payload["args"] for payload in queued(redis_client)] == [[2], [1]]


# Refusals


def test_a_unique_task_that_waits_already_is_that_one(rig: Rig, redis_client: redis.Redis, enqueued: list[Any]) -> None:
    add = made(work.add, unique="until_executed")
    first = add.enqueue(1)
    assert add.enqueue(1) == first
    assert add.enqueue(2).id != first.id
    assert len(queued(redis_client)) == 2
    assert len(enqueued) == 2
    rig.start()
    finished(first)
    assert add.enqueue(1).id != first.id


def test_a_unique_task_whose_like_cannot_be_found_is_refused(rig: Rig, redis_client: redis.Redis) -> None:
    add = made(work.add, unique="until_executed")
    first = add.enqueue(1)
    redis_client.delete("t:queue:default", f"t:status:{first.id}")
    with pytest.raises(TaskRefused, match="try again"):
        add.enqueue(1)


def test_a_task_that_middleware_refuses_is_refused(make_rig: Callable[..., Rig], enqueued: list[Any]) -> None:
    def refuse(*_: Any) -> None: ...

    make_rig(client_middleware=[refuse])
    with pytest.raises(TaskRefused, match=r"tests\.tasks\.work\.add was refused by client middleware"):
        task(work.add).enqueue(1)
    assert enqueued == []


# Other ways


def test_a_task_may_be_pushed_by_its_name(rig: Rig) -> None:
    rig.start()
    add = task(work.add)
    jid = Client.push({"class": "tests.tasks.work.add", "args": [1, 5]})
    assert jid is not None
    found = finished(add.get_result(jid))
    assert (found.return_value, found.backend) == (6, "default")


def test_a_task_may_be_periodic(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Field notes: entries accept any task."""
    monkeypatch.setattr(periodic, "declared", [])
    monkeypatch.setattr(conf, "REGISTRY", definition.REGISTRY)
    add = made(work.add, queue_name="low")
    assert periodic("0 4 * * *", add, args=[1]) is add
    (entry,) = conf.load_entries(rig.config)
    assert (entry.name, entry.job) == ("tests.tasks.work.add", "tests.tasks.work.add")


@pytest.mark.parametrize("function", [work.add, work.slowly])
def test_tasks_are_enqueued_and_read_from_asynchronous_code(rig: Rig, enqueued: list[Any], function: Any) -> None:
    async def main() -> Any:
        result = await task(function).aenqueue(2)
        rig.start()
        while not result.is_finished:
            await asyncio.sleep(0.005)
            await result.arefresh()
        return await task(function).aget_result(result.id)

    found = asyncio.run(main())
    assert found.return_value in (3, 4)
    assert [result.id for result in enqueued] == [found.id]


def test_in_fake_mode_tasks_are_kept(rig: Rig, redis_client: redis.Redis) -> None:
    """Contract 8."""
    unique = made(work.note, unique="until_executed")
    with testing.fake():
        result = unique.enqueue(1)
        assert unique.enqueue(1) == result
        assert unique.get_result(result.id).status == READY
        assert queued(redis_client) == []
        assert testing.drain_all() == 1
    assert work.seen == [1]


def test_in_inline_mode_tasks_run_at_once(rig: Rig) -> None:
    """Contract 8: the result has what they returned; their errors reach the caller."""
    with testing.inline():
        result = task(work.add).enqueue(1)
        assert (result.status, result.return_value) == (SUCCESSFUL, 2)
        assert asyncio.run(made(work.slowly).aenqueue(2)).return_value == 4
        with pytest.raises(work.Trouble):
            task(work.fail).enqueue()


def test_two_backends_do_not_mix(rig: Rig) -> None:
    with override_settings(TASKS={**TASKS, "second": {"BACKEND": BACKEND}}):
        add = task(work.add)
        first, second = add.enqueue(1), add.using(backend="second").enqueue(1)
        assert (first.backend, second.backend) == ("default", "second")
        assert task_backends["second"].get_result(second.id).status == TaskResultStatus.READY
        with pytest.raises(Exception, match=second.id):
            task_backends["default"].get_result(second.id)


def test_a_task_is_registered_where_it_is_defined(rig: Rig) -> None:
    """Contract 2."""
    assert isinstance(definition.REGISTRY, Registry)
    assert "tests.tasks.work.add" not in definition.REGISTRY
    task(work.add)
    assert "tests.tasks.work.add" in definition.REGISTRY


def test_a_task_runs_under_an_earlier_name(rig: Rig) -> None:
    add = made(work.add, aliases=("old.place.add",))
    rig.start()
    jid = Client.push({"class": "old.place.add", "args": [1]})
    assert jid is not None
    assert finished(add.get_result(jid)).return_value == 2
