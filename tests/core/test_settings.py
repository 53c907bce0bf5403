from __future__ import annotations

import dataclasses
from collections import OrderedDict
from datetime import timedelta
from typing import Any

import pytest

from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.settings import (
    LONGEST_DURATION,
    Problems,
    boolean,
    dotted_path,
    duration,
    fault,
    integer,
    listing,
    one_of,
    optional,
    read_fields,
    secret,
    section,
    setting,
    text,
    unknown_keys,
)


def section_class() -> type[Any]:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Shop:
        size: int = setting(3, integer(1, 10))
        key: str = setting("none", secret, hidden=True)
        plain: int = 0

    return Shop


def refused(read: Any, value: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(value, "X")
    (problem,) = caught.value.problems
    return str(problem)


def test_a_section_has_its_defaults_and_hides_what_is_secret() -> None:
    assert repr(section_class()()).endswith("Shop(size=3, plain=0)")
    assert section_class()().key == "none"


def test_a_section_is_read_from_a_dict_by_the_names_in_capitals() -> None:
    shop = section(section_class())({"SIZE": 10, "KEY": "k"}, "X")
    assert (shop.size, shop.key) == (10, "k")


def test_a_fault_in_a_section_has_its_place_and_hides_no_other() -> None:
    with pytest.raises(ConfigurationError) as caught:
        section(section_class())({"SIZE": 11, "KEY": "", "PLAIN": 1}, "X")
    assert caught.value.problems == (
        'X["PLAIN"]: unknown key.',
        'X["SIZE"]: must be a whole number from 1 to 10, not 11.',
        'X["KEY"]: must be a string that is not empty.',
    )


def test_a_section_that_is_no_dict_is_refused_with_what_it_is() -> None:
    assert refused(section(section_class()), [1]) == "X: must be a dict, not [1]."


def test_any_mapping_is_a_section_and_its_caller_may_read_further_keys_itself() -> None:
    problems = Problems()
    given = OrderedDict(size=4, MORE=1)
    assert read_fields(section_class(), given, "X", problems, more=("MORE",), spelling=str.lower) == {"size": 4}
    assert problems.found == []


def test_problems_collects_faults_of_the_settings_and_lets_all_others_through() -> None:
    problems = Problems()
    with problems:
        raise fault("A", "one.")
    with pytest.raises(KeyError), problems:
        raise KeyError
    assert problems.found == ["A: one."]


def test_an_unknown_key_is_told_with_the_nearest_known_one_only() -> None:
    assert unknown_keys(["concurency", "size", "x"], ["CONCURRENCY", "CONCURRENCIES", "size"], "X") == [
        'X["concurency"]: unknown key; did you mean "CONCURRENCY"?',
        'X["x"]: unknown key.',
    ]


def test_optional_passes_none_and_reads_the_rest() -> None:
    read = optional(integer(2))
    assert (read(None, "X"), read(2, "X")) == (None, 2)
    assert refused(read, 1) == "X: must be a whole number of at least 2, not 1."


@pytest.mark.parametrize(
    ("value", "least", "zero"), [(0, 0.0, True), (0.5, 0.5, False), (LONGEST_DURATION, 0.0, False)]
)
def test_a_duration_at_its_limit_is_taken(value: float, least: float, zero: bool) -> None:
    read = duration(zero=zero, least=least)(value, "X")
    assert read == value
    assert type(read) is float


def test_a_duration_may_be_one_second_and_a_timedelta() -> None:
    assert duration()(1, "X") == 1.0
    assert duration()(0.25, "X") == 0.25
    assert duration()(timedelta(minutes=1), "X") == 60.0


@pytest.mark.parametrize("value", [True, "1", None, -1, float("nan"), 2 * LONGEST_DURATION])
def test_what_is_no_duration_is_refused(value: object) -> None:
    assert refused(duration(zero=True), value) == (f"X: must be seconds or a timedelta of at least 0, not {value!r}.")


def test_a_duration_below_its_limit_is_refused_with_the_limit() -> None:
    assert refused(duration(), 0) == "X: must be seconds or a timedelta above 0, not 0."
    assert refused(duration(least=0.5), 0.25) == "X: must be seconds or a timedelta of at least 0.5, not 0.25."
    assert refused(duration(zero=True, least=2), 1) == "X: must be seconds or a timedelta of at least 2, not 1."


def test_a_choice_is_one_of_the_words() -> None:
    assert one_of("a", "b")("b", "X") == "b"
    assert refused(one_of("a", "b"), "c") == "X: must be 'a' or 'b', not 'c'."


def test_a_list_is_read_item_by_item_with_all_faults() -> None:
    assert listing(integer())((1, 2), "X") == (1, 2)
    assert refused(listing(integer()), "ab") == "X: must be a list, not 'ab'."
    with pytest.raises(ConfigurationError) as caught:
        listing(integer(1, 5))([0, 5, 6], "X")
    assert caught.value.problems == (
        "X[0]: must be a whole number from 1 to 5, not 0.",
        "X[2]: must be a whole number from 1 to 5, not 6.",
    )


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (boolean, 1, "X: must be True or False, not 1."),
        (text, "", "X: must be a string that is not empty, not ''."),
        (secret, 5, "X: must be a string that is not empty."),
        (listing(text), "ab", "X: must be a list, not 'ab'."),
        (dotted_path, "a..b", "X: must be a dotted path such as \"project.module.name\", not 'a..b'."),
        (integer(1, 3), 4, "X: must be a whole number from 1 to 3, not 4."),
        (integer(), True, "X: must be a whole number of at least 1, not True."),
    ],
)
def test_a_refused_value_is_told_with_its_place_and_what_is_right(read: Any, value: object, message: str) -> None:
    assert refused(read, value) == message
