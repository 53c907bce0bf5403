"""One run, from payload to outcome. Nothing here needs Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from cogworker_django import definition
from cogworker_django.core.errors import UnknownJob
from cogworker_django.core.middleware import Chain
from cogworker_django.core.outcome import Failed, Outcome, Succeeded
from cogworker_django.core.registry import Registry
from cogworker_django.current import current_job
from cogworker_django.definition import Job, job
from cogworker_django.worker.runner import Runner

Calls = list[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What happened, in order; the jobs of the test are in a registry of its own."""
    registry: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", registry)
    return []


def payload(name: str, *args: Any, **fields: Any) -> dict[str, Any]:
    return {"class": name, "args": list(args), "jid": "j1", "queue": "q", **fields}


def run(
    item: dict[str, Any],
    *middleware: Any,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
) -> Outcome:
    chain = Chain([(entry, {}) for entry in middleware])
    with closing(Runner(definition.REGISTRY, chain, before, after)) as runner:
        return runner.run(item, "fetched from")


def error(outcome: Outcome) -> BaseException:
    assert isinstance(outcome, Failed)
    return outcome.error


def test_a_job_gets_its_arguments_and_its_result_is_the_outcome(calls: Calls) -> None:
    @job(name="sum")
    def add(first: int, second: int, *, third: int = 0) -> int:
        return first + second + third

    assert run(payload("sum", 1, 2, kwargs={"third": 3})) == Succeeded(6)


def test_each_run_has_an_instance_of_its_own_that_knows_its_job(calls: Calls) -> None:
    """Reference 11, step 7."""
    instances: list[Job] = []

    class Known(Job, name="known"):
        def perform(self) -> None:
            instances.append(self)

    item = payload("known", note="rides along")
    run(item)
    run(item)
    first, second = instances
    assert first is not second
    assert (first.jid, first.payload["note"]) == ("j1", "rides along")


def test_a_coroutine_runs_to_its_end(calls: Calls) -> None:
    @job(name="later")
    async def later(value: int) -> int:
        await asyncio.sleep(0)
        return value + 1

    assert run(payload("later", 1)) == Succeeded(2)


def test_a_job_that_runs_is_the_current_one_and_no_other_time(calls: Calls) -> None:
    """Contract 2."""

    @job(name="who")
    def who() -> str:
        running = current_job()
        assert running is not None
        return running.jid

    assert run(payload("who")) == Succeeded("j1")
    assert current_job() is None


@pytest.mark.parametrize(
    "kind", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError, asyncio.CancelledError]
)
def test_whatever_a_job_raises_is_its_failure(kind: type[BaseException], calls: Calls) -> None:
    """Reference 11, step 7; case B082."""

    @job(name="bad")
    def bad() -> None:
        raise kind("no")

    assert type(error(run(payload("bad")))) is kind
    assert current_job() is None


def test_a_name_that_no_job_has_is_a_failure(calls: Calls) -> None:
    assert isinstance(error(run(payload("os.system", "true"))), UnknownJob)


def test_arguments_that_perform_does_not_take_are_a_failure(calls: Calls) -> None:
    @job(name="none")
    def none() -> None: ...

    assert isinstance(error(run(payload("none", 1, 2))), TypeError)


def test_a_job_that_cannot_be_made_is_a_failure(calls: Calls) -> None:
    class Unmade(Job, name="unmade"):
        def __init__(self) -> None:
            raise RuntimeError("no instance")

        def perform(self) -> None: ...

    assert str(error(run(payload("unmade")))) == "no instance"


# Middleware


def noting(calls: Calls, name: str) -> Callable[..., Any]:
    def middleware(job: Job | None, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        calls.append(f"{name} in")
        try:
            return proceed()
        finally:
            calls.append(f"{name} out")

    return middleware


def test_middleware_wraps_the_run_in_order(calls: Calls) -> None:
    """Reference M1."""

    @job(name="inner")
    def inner() -> str:
        calls.append("run")
        return "result"

    assert run(payload("inner"), noting(calls, "a"), noting(calls, "b")) == Succeeded("result")
    assert calls == ["a in", "b in", "run", "b out", "a out"]


def test_a_middleware_class_has_a_fresh_instance_for_each_run(calls: Calls) -> None:
    """Reference M3."""
    made: list[object] = []

    class Fresh:
        def __init__(self) -> None:
            made.append(self)

        def __call__(self, job: Job, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
            return proceed()

    @job(name="inner")
    def inner() -> None: ...

    run(payload("inner"), Fresh)
    run(payload("inner"), Fresh)
    assert len({id(each) for each in made}) == 2


def test_middleware_sees_the_job_its_payload_and_where_it_was_fetched(calls: Calls) -> None:
    seen: list[Any] = []

    def look(job: Job, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        seen.extend([type(job).__name__, item["jid"], queue])
        return proceed()

    class Looked(Job, name="looked"):
        def perform(self) -> None: ...

    run(payload("looked"), look)
    assert seen == ["Looked", "j1", "fetched from"]


def test_middleware_sees_an_unknown_name_fail_inside_it_without_a_job(calls: Calls) -> None:
    """Reference P4 in our form."""
    seen: list[Any] = []

    def look(job: Job | None, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        seen.append(job)
        try:
            return proceed()
        except UnknownJob as caught:
            seen.append(type(caught))
            raise

    assert isinstance(error(run(payload("gone"), look)), UnknownJob)
    assert seen == [None, UnknownJob]


def test_what_middleware_raises_is_the_failure(calls: Calls) -> None:
    """Contract 3."""

    def refuse(job: Job, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        proceed()
        raise PermissionError("not today")

    @job(name="inner")
    def inner() -> None:
        calls.append("run")

    assert isinstance(error(run(payload("inner"), refuse)), PermissionError)
    assert calls == ["run"]


def test_middleware_that_does_not_proceed_makes_the_run_a_success_without_it(calls: Calls) -> None:
    def skip(job: Job, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        return "skipped"

    @job(name="inner")
    def inner() -> None:
        calls.append("run")

    assert run(payload("inner"), skip) == Succeeded("skipped")
    assert calls == []


def test_middleware_runs_inside_the_current_job_only_around_perform(calls: Calls) -> None:
    def look(job: Job, item: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        calls.append(str(current_job()))
        return proceed()

    @job(name="inner")
    def inner() -> None: ...

    run(payload("inner"), look)
    assert calls == ["None"]


# Around the run


def test_connections_are_cared_for_before_and_after_each_run_also_a_failing_one(calls: Calls) -> None:
    """Contract 9."""

    @job(name="bad")
    def bad() -> None:
        calls.append("run")
        raise ValueError

    run(payload("bad"), before=lambda: calls.append("before"), after=lambda: calls.append("after"))
    assert calls == ["before", "run", "after"]


def fail() -> None:
    raise OSError("the database is away")


def test_what_fails_after_a_good_run_does_not_make_it_a_failure(calls: Calls) -> None:
    """Guarantee 2: a job that has run is not run again because of something that failed after it."""

    @job(name="good")
    def good() -> str:
        return "done"

    assert run(payload("good"), after=fail) == Succeeded("done")


def test_what_fails_after_a_bad_run_does_not_hide_its_error(calls: Calls) -> None:
    @job(name="bad")
    def bad() -> None:
        raise ValueError("the real one")

    assert str(error(run(payload("bad"), after=fail))) == "the real one"


def test_what_fails_before_the_run_is_the_jobs_failure(calls: Calls) -> None:
    """It has not run, and must not be lost."""

    @job(name="good")
    def good() -> None:
        calls.append("run")

    assert isinstance(error(run(payload("good"), before=fail)), OSError)
    assert calls == []


def test_other_code_of_users_gets_the_same_care(calls: Calls) -> None:
    runner = Runner(definition.REGISTRY, Chain(), lambda: calls.append("before"), lambda: calls.append("after"))
    runner.aside(lambda: calls.append("step"))
    assert calls == ["before", "step", "after"]
