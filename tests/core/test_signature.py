from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogworker_django.core.signature import CallSignature, accept_any, refuse_all, signature_of

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
