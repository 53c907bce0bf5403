"""The testing kit: no Redis, no worker, and everything else real (contract 8; reference 34, group Y)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import SimpleTestCase, override_settings

from cogworker_django import Client, Job, RedisUnavailable, conf, current_job, definition, job, runtime, testing
from cogworker_django.core.registry import Registry

NOWHERE = {"REDIS": "redis://127.0.0.1:1/0"}


@pytest.fixture(autouse=True)
def without_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing listens there: whoever connects fails at once."""
    registry: Registry[type[Job]] = Registry()
    for module in (definition, conf):
        monkeypatch.setattr(module, "REGISTRY", registry)
    runtime.install(conf.build_runtime)
    with override_settings(COGWORKER=NOWHERE):
        yield
    runtime.substitute(None, False)
    runtime.reset()


def recorder(name: str = "note", **options: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    @job(name=name, **options)
    def note(*args: Any, **kwargs: Any) -> None:
        seen.append((*args, *kwargs.items()))

    return note, seen


def test_nothing_stands_in_for_redis_unless_it_is_asked_for() -> None:
    """Case Y1."""
    note, _ = recorder()
    with pytest.raises(RedisUnavailable):
        note.perform_async(1)
    for act in (lambda: note.jobs, note.perform_one, note.drain, note.clear, testing.drain_all, testing.clear_jobs):
        with pytest.raises(RuntimeError, match="fake mode only"):
            act()


def test_fake_mode_keeps_jobs_and_runs_none() -> None:
    """Case Y2, Y3: they have made the way to JSON and back."""
    note, seen = recorder()
    other, _ = recorder("other")
    with testing.fake():
        jid = note.perform_async((1, 2), kind="csv")
        other.perform_async()
        [kept] = note.jobs
        assert (kept["jid"], kept["class"], kept["args"], kept["kwargs"]) == (jid, "note", [[1, 2]], {"kind": "csv"})
        kept["args"].append("changed")
        assert note.jobs[0]["args"] == [[1, 2]]
        assert len(other.jobs) == 1
        assert note.set(queue="high").jobs == note.jobs
    assert seen == []


def test_scheduled_jobs_keep_their_time_and_wait_to_be_asked_for() -> None:
    """Case Y4."""
    note, seen = recorder()
    when = datetime(2040, 1, 1, tzinfo=UTC)
    with testing.fake():
        note.perform_at(when, "third")
        note.perform_in(600, "second")
        note.perform_async("first")
        assert note.jobs[0]["at"] == when.timestamp()
        assert note.drain() == 1
        assert note.drain(until=time.time() + 500) == 0
        assert note.drain(until=datetime.now(UTC) + timedelta(hours=1)) == 1
        with pytest.raises(testing.EmptyQueueError, match=r"1 are scheduled, which drain\(until=\.\.\.\) performs"):
            note.perform_one()
        assert testing.drain_all(until=when) == 1
    assert seen == [("first",), ("second",), ("third",)]


def test_jobs_are_forgotten_by_class_or_all() -> None:
    """Case Y5."""
    note, _ = recorder(unique="until_executed")
    other, _ = recorder("other")
    with testing.fake():
        note.perform_async()
        other.perform_async()
        note.clear()
        assert (note.jobs, len(other.jobs)) == ([], 1)
        assert note.perform_async()
        testing.clear_jobs()
        assert note.jobs == other.jobs == []


def test_the_oldest_is_performed_and_an_empty_queue_says_so() -> None:
    """Case Y11, Y12."""
    note, seen = recorder()
    with testing.fake():
        for number in range(3):
            note.perform_async(number)
        note.perform_one()
        assert seen == [(0,)]
        assert [kept["args"] for kept in note.jobs] == [[1], [2]]
        note.clear()
        with pytest.raises(testing.EmptyQueueError, match="there is no job of note to perform"):
            note.perform_one()


def test_draining_includes_what_is_pushed_meanwhile() -> None:
    """Case Y13, Y14."""
    seen: list[int] = []
    other, others = recorder("other")

    @job(name="chain")
    def chain(left: int) -> None:
        seen.append(left)
        other.perform_async(left)
        if left:
            chain.perform_async(left - 1)

    with testing.fake():
        chain.perform_async(3)
        assert chain.drain() == 4
        assert seen == [3, 2, 1, 0]
        assert len(other.jobs) == 4
        chain.perform_async(1)
        assert testing.drain_all() == 8
        assert len(others) == 6


def test_errors_of_a_performed_job_reach_the_test_and_the_others_stay() -> None:
    @job(name="fail", unique="until_executed")
    def fail(number: int) -> None:
        raise ValueError(f"no {number}")

    with testing.fake():
        fail.perform_async(1)
        fail.perform_async(2)
        with pytest.raises(ValueError, match="no 1"):
            fail.drain()
        assert len(fail.jobs) == 1
        assert fail.perform_async(1)


def test_a_unique_job_is_refused_as_by_redis() -> None:
    """Contract 8: unique included."""
    note, seen = recorder(unique="until_executed")
    with testing.fake():
        assert note.perform_async(1)
        assert note.perform_async(1) is None
        assert note.perform_async(2)
        assert note.perform_bulk([(1,), (3,)])[0] is None
        note.drain()
        assert note.perform_async(1)
    assert sorted(seen) == [(1,), (2,), (3,)]


def test_inline_mode_runs_at_once_and_ignores_delays() -> None:
    """Case Y6, Y7: on the caller's thread, with what a job knows about itself."""
    told: list[Any] = []

    class Report(Job, name="report"):
        def perform(self, number: int) -> None:
            self.at(50, "half")
            self.store(rows=1)
            told.append((number, self.jid, current_job() is self, threading.current_thread()))

    with testing.inline():
        jid = Report.perform_async(1)
        Report.perform_in(3600, 2)
        Client.push({"class": "report", "args": [3]})
    assert [number for number, *_ in told] == [1, 2, 3]
    assert told[0][1:] == (jid, True, threading.current_thread())
    assert current_job() is None


def test_inline_errors_reach_the_caller() -> None:
    """Case Y8."""

    @job(name="fail", retry=5)
    def fail() -> None:
        raise ValueError("no")

    with testing.inline(), pytest.raises(ValueError, match="no"):
        fail.perform_async()


def test_an_async_job_runs_too() -> None:
    seen: list[int] = []

    @job(name="slow")
    async def slow(number: int) -> None:
        await asyncio.sleep(0)
        seen.append(number)

    with testing.inline():
        slow.perform_async(1)
    assert seen == [1]


def test_a_unique_job_does_not_push_itself_inline() -> None:
    answers: list[Any] = []

    @job(name="again", unique="until_executed")
    def again(left: int) -> None:
        if left:
            answers.append(again.perform_async(left))

    with testing.inline():
        assert again.perform_async(1)
        assert again.perform_async(1)
    assert answers == [None, None]


def wrapped(job: object, payload: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
    WRAPPED.append((payload["class"], queue))
    return proceed()


def stamped(name: str, payload: dict[str, Any], queue: str, redis: object, proceed: Callable[[], Any]) -> Any:
    payload["stamp"] = name
    return proceed()


WRAPPED: list[Any] = []


@pytest.mark.parametrize("mode", [testing.fake, testing.inline])
def test_middleware_of_both_sides_runs(mode: Any) -> None:
    """Case Y9."""
    stamps: list[Any] = []

    @job(name="note", queue="low")
    def note() -> None:
        running = current_job()
        assert running is not None
        stamps.append(running.payload["stamp"])

    WRAPPED.clear()
    chains = {"SERVER_MIDDLEWARE": [f"{__name__}.wrapped"], "CLIENT_MIDDLEWARE": [f"{__name__}.stamped"]}
    with override_settings(COGWORKER={**NOWHERE, **chains}), mode():
        note.perform_async()
        if mode is testing.fake:
            note.drain()
    assert stamps == ["note"]
    assert WRAPPED == [("note", "low")]


@pytest.mark.parametrize("mode", [testing.fake, testing.inline])
@pytest.mark.parametrize("argument", [object(), {1: 2}, float("nan")])
def test_wrong_arguments_are_refused_as_ever(mode: Any, argument: object) -> None:
    """Case B092: the same in test mode."""
    note, _ = recorder()
    with mode(), pytest.raises((TypeError, ValueError), match=r"args\[0\]"):
        note.perform_async(argument)


def test_modes_nest_and_end_with_their_block_also_after_an_error() -> None:
    """Case Y10."""
    note, seen = recorder()
    with testing.fake():
        note.perform_async(1)
        with testing.inline():
            note.perform_async(2)
            with testing.disable(), pytest.raises(RedisUnavailable):
                note.perform_async(3)
            note.perform_async(4)
        with pytest.raises(KeyError), testing.fake():
            note.perform_async(5)
            raise KeyError
        assert [kept["args"] for kept in note.jobs] == [[1]]
    assert seen == [(2,), (4,)]
    with pytest.raises(RedisUnavailable):
        note.perform_async(6)


def test_a_call_leaves_its_mode_on() -> None:
    note, seen = recorder()
    testing.inline()
    note.perform_async(1)
    testing.fake()
    note.perform_async(2)
    testing.disable()
    with pytest.raises(RedisUnavailable):
        note.perform_async(3)
    assert seen == [(1,)]


def test_a_mode_outlives_changed_settings() -> None:
    note, _ = recorder()
    with testing.fake():
        with override_settings(COGWORKER={**NOWHERE, "PREFIX": "other:"}):
            note.perform_async(1)
        assert len(note.jobs) == 1


@pytest.mark.parametrize("brackets", [False, True])
def test_a_test_may_be_decorated_with_or_without_brackets(brackets: bool) -> None:
    note, _ = recorder()

    def decorator(target: Any) -> Any:
        return testing.fake()(target) if brackets else testing.fake(target)

    def plain(number: int) -> int:
        """Doc."""
        note.perform_async(number)
        return len(note.jobs)

    async def awaited() -> int:
        await note.aperform_async(1)
        return len(note.jobs)

    plain, awaited = decorator(plain), decorator(awaited)

    @decorator
    class Tests(SimpleTestCase):
        def test_one(self) -> None:
            note.perform_async(1)
            self.assertEqual(len(note.jobs), 1)

        def helper(self) -> None:
            note.perform_async(1)

    assert (plain(1), plain(2), plain.__name__, plain.__doc__) == (1, 1, "plain", "Doc.")
    assert asyncio.run(awaited()) == 1
    Tests().test_one()
    for outside in (lambda: note.perform_async(1), Tests().helper):
        with pytest.raises(RedisUnavailable):
            outside()


def test_all_threads_share_the_mode() -> None:
    note, _ = recorder(unique="until_executed")
    accepted: list[Any] = []
    with testing.fake():
        threads = [
            threading.Thread(target=lambda: accepted.extend(note.perform_bulk([(n,) for n in range(200)])))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(note.jobs) == 200
    assert sum(jid is not None for jid in accepted) == 200


@pytest.mark.usefixtures("cogworker_fake")
def test_a_fixture_puts_a_test_into_fake_mode() -> None:
    note, seen = recorder()
    note.perform_async(1)
    assert testing.drain_all() == 1
    assert seen == [(1,)]


def test_a_fixture_puts_a_test_into_inline_mode(cogworker_inline: None) -> None:
    note, seen = recorder()
    note.perform_async(1)
    assert seen == [(1,)]
