from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from cogworker_django.core.middleware import Chain

Proceed = Callable[[], Any]


class Recorder:
    instances: ClassVar[list[Recorder]] = []

    def __init__(self, log: list[str], name: str = "class") -> None:
        self.log, self.name = log, name
        self.instances.append(self)

    def __call__(self, first: object, second: object, proceed: Proceed) -> Any:
        self.log.append(f"{self.name} {first} {second}")
        answer = proceed()
        self.log.append(f"/{self.name}")
        return answer


def record(first: object, second: object, proceed: Proceed, *, log: list[str], name: str = "function") -> Any:
    log.append(f"{name} {first} {second}")
    answer = proceed()
    log.append(f"/{name}")
    return answer


def test_the_first_entry_is_outermost_classes_and_functions_mixed() -> None:
    log: list[str] = []
    chain = Chain([(record, {"log": log, "name": "a"}), (Recorder, {"log": log, "name": "b"})])

    def final() -> int:
        log.append("final")
        return 5

    assert chain.invoke(final, 1, 2) == 5
    assert log == ["a 1 2", "b 1 2", "final", "/b", "/a"]


def test_an_entry_that_is_named_twice_runs_twice() -> None:
    """Reference M2 differs: there a later entry replaces an earlier one; a list in the settings is what it says."""
    log: list[str] = []
    Chain([(record, {"log": log, "name": "a"}), (record, {"log": log, "name": "b"})]).invoke(lambda: None, 1, 2)
    assert log == ["a 1 2", "b 1 2", "/b", "/a"]


def test_an_empty_chain_is_the_final_step_alone() -> None:
    chain = Chain()
    assert chain.empty
    assert chain.entries == ()
    assert chain.invoke(lambda: 5, 1, 2) == 5


def test_a_class_is_instantiated_for_each_invocation() -> None:
    Recorder.instances.clear()
    chain = Chain([(Recorder, {"log": []})])
    chain.invoke(lambda: None, 1, 2)
    chain.invoke(lambda: None, 1, 2)
    assert len({id(instance) for instance in Recorder.instances}) == 2


def test_the_four_arguments_of_a_client_middleware_arrive() -> None:
    seen: list[tuple[object, ...]] = []

    def client(name: str, payload: object, queue: str, redis: object, proceed: Proceed) -> Any:
        seen.append((name, payload, queue, redis))
        return proceed()

    assert Chain([(client, {})]).invoke(lambda: "jid", "Report", {"a": 1}, "low", None) == "jid"
    assert seen == [("Report", {"a": 1}, "low", None)]


def test_who_does_not_proceed_keeps_the_rest_from_happening() -> None:
    log: list[str] = []
    chain = Chain([(lambda *args: "refused", {}), (record, {"log": log})])
    assert chain.invoke(lambda: log.append("final"), 1, 2) == "refused"
    assert log == []


@pytest.mark.parametrize("inner", [[], [(lambda *args: args[-1](), {})]])
def test_proceeding_twice_is_refused_and_the_rest_ran_once(inner: list[Any]) -> None:
    ran: list[int] = []

    def twice(proceed: Proceed) -> None:
        proceed()
        proceed()

    with pytest.raises(RuntimeError, match="twice called proceed\\(\\) twice"):
        Chain([(twice, {}), *inner]).invoke(lambda: ran.append(1))
    assert ran == [1]


def test_what_is_raised_inside_reaches_each_middleware_and_the_caller() -> None:
    seen: list[str] = []

    def watch(proceed: Proceed, name: str) -> Any:
        try:
            return proceed()
        except KeyError:
            seen.append(name)
            raise

    def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Chain([(watch, {"name": "a"}), (watch, {"name": "b"})]).invoke(fails)
    assert seen == ["b", "a"]


def test_what_cannot_be_called_is_refused_when_the_chain_is_built() -> None:
    with pytest.raises(TypeError, match="neither a class nor a function"):
        Chain([("demo.middleware.Timing", {})])  # type: ignore[list-item]  # what the test is about
