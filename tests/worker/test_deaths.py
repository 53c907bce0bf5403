"""Death hooks (reference 12.5, group D). Nothing here needs Redis."""

from __future__ import annotations

from typing import Any

import pytest

from cogworker_django import definition
from cogworker_django.core import codec
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job, job
from cogworker_django.worker.deaths import DeathHooks, Handler
from tests.worker.rigs import messages

ENTRY = codec.encode({"class": "doomed", "jid": "j1", "args": [{"deep": [1]}], "error_class": "ValueError"})
ERROR = ValueError("the end")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[type[Job]]:
    found: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", found)
    return found


def doomed(told: list[Any]) -> None:
    class Doomed(Job, name="doomed"):
        def perform(self, *args: Any) -> None: ...

        def retries_exhausted(self, payload: dict[str, Any], exception: BaseException) -> None:
            told.append(("class", self.jid, payload["jid"], exception))


def run(*handlers: Handler) -> None:
    DeathHooks(definition.REGISTRY, handlers).run(ENTRY, ERROR)


def test_the_jobs_own_hook_comes_first_then_the_handlers_in_order() -> None:
    """Reference D1."""
    told: list[Any] = []
    doomed(told)
    run(lambda payload, error: told.append(("first", error)), lambda payload, error: told.append(("second", error)))
    assert told == [("class", "j1", "j1", ERROR), ("first", ERROR), ("second", ERROR)]


@pytest.mark.parametrize("trouble", [RuntimeError, SystemExit, KeyboardInterrupt])
def test_one_that_raises_is_logged_and_costs_the_others_nothing(
    trouble: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """Reference D2, P39, P47."""
    told: list[str] = []

    def bad(payload: dict[str, Any], error: BaseException) -> None:
        raise trouble("hook")

    run(bad, lambda payload, error: told.append("good"))
    assert told == ["good"]
    [line] = messages(caplog)
    assert "bad failed for jid=j1" in line
    assert trouble.__name__ in line


def test_each_gets_a_copy_of_its_own() -> None:
    """Reference D3, P38."""
    seen: list[dict[str, Any]] = []

    def spoil(payload: dict[str, Any], error: BaseException) -> None:
        payload["args"][0]["deep"].append(2)
        payload["class"] = "other"

    run(spoil, lambda payload, error: seen.append(payload))
    assert seen == [codec.decode(ENTRY)]


def test_without_the_class_only_the_handlers_are_told() -> None:
    """Reference D4, P43, R59."""
    told: list[str] = []
    run(lambda payload, error: told.append(payload["class"]))
    assert told == ["doomed"]


def test_each_gets_only_as_many_arguments_as_it_takes() -> None:
    """Reference D5, P48."""
    told: list[Any] = []
    run(lambda: told.append(0), lambda payload: told.append(1), lambda *both: told.append(len(both)))
    assert told == [0, 1, 2]


def test_a_functions_hook_is_told_too() -> None:
    """Contract 2."""
    told: list[Any] = []

    @job(name="doomed")
    def function() -> None: ...

    @function.retries_exhausted
    def dead(payload: dict[str, Any], exception: BaseException) -> None:
        told.append((payload["jid"], exception))

    run()
    assert told == [("j1", ERROR)]


def test_nobody_is_wanted_where_nobody_asked() -> None:
    @job(name="plain")
    def plain() -> None: ...

    doomed([])
    nobody = DeathHooks(definition.REGISTRY, ())
    assert [nobody.wanted(name) for name in ("plain", "doomed", "unknown")] == [False, True, False]
    assert DeathHooks(definition.REGISTRY, (print,)).wanted("unknown")


def test_a_job_that_cannot_even_be_made_costs_the_handlers_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Job, name="doomed"):
        def __init__(self) -> None:
            raise RuntimeError("no instance")

        def perform(self) -> None: ...

        def retries_exhausted(self, payload: dict[str, Any]) -> None: ...

    told: list[str] = []
    run(lambda payload, error: told.append(payload["jid"]))
    assert told == ["j1"]
    [line] = messages(caplog)
    assert "Broken.retries_exhausted failed for jid=j1: RuntimeError: no instance" in line
