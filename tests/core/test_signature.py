from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogworker_django.core.signature import CallSignature, accept_any, perform_signature, refuse_all, signature_of

FUNCTIONS: list[Callable[..., Any]] = [
    lambda: 1,
    lambda a: 1,
    lambda a, b=2: 1,
    lambda a, /, b: 1,
    lambda *args: 1,
    lambda a, *args, k: 1,
    lambda a, *, k=1: 1,
    lambda a, *, k: 1,
    lambda **kwargs: 1,
    lambda a, b=1, *args, k=2, **kwargs: 1,
]


@given(
    st.sampled_from(FUNCTIONS),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "k", "z"]), st.integers(), max_size=3),
)
def test_a_call_passes_the_check_if_and_only_if_the_function_takes_it(
    function: Callable[..., Any], args: list[int], kwargs: dict[str, int]
) -> None:
    signature = CallSignature("demo.Report", inspect.signature(function))
    try:
        function(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError, match=r"^demo\.Report\.perform: "):
            signature.check(args, kwargs)
    else:
        signature.check(args, kwargs)


def test_the_message_says_what_is_missing() -> None:
    signature = CallSignature("demo.Report", inspect.signature(lambda user_id, *, kind="pdf": 1))
    with pytest.raises(TypeError, match="missing a required argument: 'user_id'"):
        signature.check((), {})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        signature.check((1,), {"colour": 1})


def test_a_job_that_cannot_run_refuses_every_call() -> None:
    with pytest.raises(TypeError, match=r"demo\.Base has no perform method"):
        refuse_all("demo.Base")((), {})


def test_a_job_whose_code_is_elsewhere_takes_every_call() -> None:
    accept_any((1, 2), {"a": 3})


def test_annotations_that_cannot_be_evaluated_do_not_matter() -> None:
    def perform(user: NotThere) -> None:  # type: ignore[name-defined]  # noqa: F821 - what the test is about
        pass

    signature = signature_of(perform)
    assert signature is not None
    assert list(signature.parameters) == ["user"]


def test_a_callable_that_does_not_tell_has_no_signature() -> None:
    assert signature_of(max) is None
    assert signature_of(5) is None  # type: ignore[arg-type]  # what the test is about


@pytest.mark.parametrize(
    ("function", "least", "most"),
    [
        (lambda a, b=2: 1, 1, 2),
        (lambda a, /, b: 1, 2, 2),
        (lambda *args: 1, 0, float("inf")),
        (lambda a, *args, k=1, **more: 1, 1, float("inf")),
        (lambda a, b, c, *, k=1: 1, 3, 3),
    ],
)
def test_positional_calls_within_the_range_pass_without_being_bound(
    function: Callable[..., Any], least: int, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = CallSignature("demo.Report", inspect.signature(function))
    bound: list[tuple[object, ...]] = []
    monkeypatch.setattr(inspect.Signature, "bind", lambda self, *args, **kwargs: bound.append(args))
    for count in range(6):
        signature.check([0] * count, {})
    assert [len(args) for args in bound] == [count for count in range(6) if not least <= count <= most]


def test_a_call_that_lacks_a_needed_keyword_is_always_bound() -> None:
    signature = CallSignature("demo.Report", inspect.signature(lambda a, *, k: 1))
    with pytest.raises(TypeError, match="missing a required"):
        signature.check([1], {})
    signature.check([1], {"k": 1})


def test_the_signature_of_perform_is_read() -> None:
    def perform(a: int) -> None:
        pass

    assert perform_signature("demo.Report", perform) == inspect.signature(perform)


@pytest.mark.parametrize("kind", ["generator", "asynchronous"])
def test_either_kind_of_generator_is_refused(kind: str) -> None:
    def generator() -> Any:
        yield

    async def asynchronous() -> Any:
        yield

    perform = {"generator": generator, "asynchronous": asynchronous}[kind]
    with pytest.raises(TypeError, match=r"^demo\.Report\.perform is a generator"):
        perform_signature("demo.Report", perform)
