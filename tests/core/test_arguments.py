from __future__ import annotations

import enum
import re
from collections import OrderedDict, namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from hypothesis import given

from cogworker_django.core import codec
from cogworker_django.core.arguments import MAX_DEPTH, MAX_INTEGER_BITS, SHOWN_STEPS, checked, duplicate
from tests.core.test_codec import JSON, exact


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 1


class Word(enum.StrEnum):
    YES = "yes"


class Number(float):
    pass


Point = namedtuple("Point", "x y")


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@given(JSON)
def test_every_json_value_passes_as_an_equal_copy_that_survives_the_round_trip(value: Any) -> None:
    copy = checked(value, "args")
    assert exact(copy) == exact(value)
    assert exact(codec.decode(codec.encode({"args": copy}))["args"]) == exact(value)


@given(JSON)
def test_a_duplicate_is_equal(value: Any) -> None:
    assert exact(duplicate(value)) == exact(value)


@pytest.mark.parametrize("copied", [checked, lambda value, _: duplicate(value)])
def test_a_copy_shares_no_container_with_the_original(copied: Any) -> None:
    original = [{"a": [1, {"b": []}]}, []]
    copy = copied(original, "args")
    copy[0]["a"][1]["b"].append(1)
    copy[0]["c"] = 2
    copy[1].append(3)
    assert original == [{"a": [1, {"b": []}]}, []]


def test_tuples_become_lists_at_every_level() -> None:
    assert exact(checked((1, (2, {"a": (3,)})), "args")) == exact([1, [2, {"a": [3]}]])


@pytest.mark.parametrize(
    "value",
    [
        b"bytes",
        bytearray(b"x"),
        Decimal("1.5"),
        UUID(int=1),
        datetime(2026, 1, 1),
        date(2026, 1, 1),
        timedelta(1),
        {1, 2},
        frozenset(),
        1j,
        object(),
        range(3),
        iter([]),
        Colour.RED,
        Level.HIGH,
        Word.YES,
        Number(1),
        Point(1, 2),
        OrderedDict(a=1),
        lazystr("text"),
        mark_safe("text"),
        User(username="x"),
        int,
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_json_type_is_a_type_error_with_place_and_type(value: object) -> None:
    """Case B092."""
    with pytest.raises(TypeError) as caught:
        checked([1, {"x": [value]}], "args")
    assert str(caught.value).startswith('args[1]["x"][0]: ')
    assert type(value).__qualname__ in str(caught.value)


def test_a_subclass_of_a_plain_type_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match="pass a plain str"):
        checked(Word.YES, "args[0]")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "args"),
        ([float("inf")], "args[0]"),
        ({"x": float("-inf")}, 'args["x"]'),
        ([0, {"x": [1, float("nan")]}], 'args[1]["x"][1]'),
        (["\ud800"], "args[0]"),
        (["ok", "é\udcff"], "args[1]"),
        ({"\ud800": 1}, "args"),
        ([10**5000], "args[0]"),
        ([-(10**5000)], "args[0]"),
    ],
)
def test_what_json_cannot_carry_is_a_value_error_with_its_place(value: object, place: str) -> None:
    """Case B091."""
    with pytest.raises(ValueError, match=f"^{re.escape(place)}: "):
        checked(value, "args")


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",), b"a", Word.YES])
def test_a_key_that_is_no_string_is_a_type_error_with_its_place(key: object) -> None:
    with pytest.raises(TypeError, match=r'^args\["x"\]: the key .* is not a string'):
        checked({"x": {key: 1}}, "args")


def test_a_list_within_itself_is_a_value_error() -> None:
    value: list[Any] = [1]
    value.append(value)
    with pytest.raises(ValueError, match="contains itself") as caught:
        checked(value, "args")
    assert len(str(caught.value)) < 300


def test_a_dict_within_itself_is_a_value_error() -> None:
    value: dict[str, Any] = {}
    value["again"] = {"x": value}
    with pytest.raises(ValueError, match="contains itself"):
        checked(value, "args")


def test_nesting_is_allowed_up_to_its_limit_and_not_beyond() -> None:
    assert checked(nested(MAX_DEPTH), "args") == nested(MAX_DEPTH)
    with pytest.raises(ValueError, match="more than 200"):
        checked(nested(MAX_DEPTH + 1), "args")


def test_integers_of_any_usual_size_pass() -> None:
    for value in (2**63, -(2**63), 2**64, -(2**64), 10**4000):
        assert codec.decode(codec.encode({"a": checked(value, "a")})) == {"a": value}


def test_a_caller_deep_in_a_recursion_gets_a_value_error_too() -> None:
    def deepest() -> object:
        try:
            return deepest()
        except RecursionError:
            return checked(nested(MAX_DEPTH - 1), "args")

    with pytest.raises(ValueError, match="more than 200"):
        deepest()


def path_of(levels: int) -> str:
    with pytest.raises(TypeError) as caught:
        checked(put_into_lists(object(), levels), "x")
    return str(caught.value).partition(": ")[0]


def put_into_lists(value: object, levels: int) -> object:
    for _ in range(levels):
        value = [0, value]
    return value


def test_a_place_shows_its_outermost_steps_and_that_there_are_more() -> None:
    assert path_of(SHOWN_STEPS) == "x" + "[1]" * SHOWN_STEPS
    assert path_of(SHOWN_STEPS + 1) == "x" + "[1]" * SHOWN_STEPS + "…"


def test_dicts_are_allowed_in_each_other_up_to_the_limit_and_not_beyond() -> None:
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 1):
        value = {"a": value}
    assert checked(value, "args") == value
    with pytest.raises(ValueError, match="more than 200"):
        checked({"a": value}, "args")


def test_an_integer_of_as_many_bits_as_allowed_passes_and_no_larger_one() -> None:
    largest = (1 << MAX_INTEGER_BITS) - 1
    assert checked(largest, "x") == largest
    with pytest.raises(ValueError, match="too many digits"):
        checked(largest + 1, "x")
