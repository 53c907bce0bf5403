from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogworker_django.core.hooks import call_with_fitting


class Callee:
    def two(self, first: object, second: object) -> list[object]:
        return [first, second]

    def __call__(self, first: object) -> list[object]:
        return [first]


def only_count(count: int) -> list[object]:
    return [count]


def with_default(count: int, error: object = None, *, note: str = "") -> list[object]:
    return [count, error]


@pytest.mark.parametrize(
    ("hook", "given"),
    [
        (lambda: [], []),
        (only_count, [1]),
        (with_default, [1, 2]),
        (lambda a, b, c: [a, b, c], [1, 2, 3]),
        (lambda a, b, c, d=4: [a, b, c, d], [1, 2, 3, 4]),
        (lambda *args: list(args), [1, 2, 3]),
        (lambda a, *args, **kwargs: [a, *args], [1, 2, 3]),
        (Callee().two, [1, 2]),
        (Callee(), [1]),
    ],
)
def test_a_hook_gets_only_as_many_arguments_as_it_takes(hook: Callable[..., Any], given: list[int]) -> None:
    assert call_with_fitting(hook, 1, 2, 3) == given


def test_a_hook_that_does_not_tell_its_signature_gets_all() -> None:
    assert call_with_fitting(max, 1, 3, 2) == 3


def test_a_hook_that_needs_more_fails_as_any_call() -> None:
    with pytest.raises(TypeError):
        call_with_fitting(lambda a, b, c: a, 1, 2)


def test_what_a_hook_raises_goes_through() -> None:
    def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        call_with_fitting(fails, 1)


def test_a_hook_that_takes_any_number_gets_no_more_than_there_is() -> None:
    assert call_with_fitting(lambda *args: len(args), *range(5)) == 5
