from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from cogworker_django.core.options import JobOptions, refuse_attributes
from cogworker_django.core.payload import RESERVED


def test_defaults_are_the_default_queue_and_25_retries() -> None:
    assert JobOptions().fields() == {"queue": "default", "retry": True}


def test_options_accumulate_and_unknown_keywords_ride_along() -> None:
    first = JobOptions().merged(queue="low", team="a")
    second = first.merged(retry=False, tags=["x"])
    assert second.fields() == {"queue": "low", "retry": False, "team": "a", "tags": ["x"]}
    assert first.fields() == {"queue": "low", "retry": True, "team": "a"}


def test_unique_travels_and_on_commit_does_not() -> None:
    options = JobOptions().merged(unique="until_executed", on_commit="replica")
    assert options.on_commit == "replica"
    assert options.fields() == {"queue": "default", "retry": True, "unique": "until_executed"}


def test_unique_and_on_commit_can_be_taken_back() -> None:
    options = JobOptions().merged(unique="until_executed", on_commit=True).merged(unique=None, on_commit=False)
    assert options == JobOptions()


@pytest.mark.parametrize("retry", [True, False, None, 0, 5, 1000])
def test_retry_takes_bools_and_numbers(retry: object) -> None:
    assert JobOptions().merged(retry=retry).retry is retry


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"queue": "two words"}, ValueError),
        ({"queue": None}, TypeError),
        ({"retry": -1}, ValueError),
        ({"retry": 10**5000}, ValueError),
        ({"retry": 2.0}, TypeError),
        ({"retry": "5"}, TypeError),
        ({"unique": True}, ValueError),
        ({"unique": "until_executing"}, ValueError),
        ({"on_commit": 1}, TypeError),
        ({"on_commit": ""}, TypeError),
        ({"name": "x"}, TypeError),
        ({"aliases": ()}, TypeError),
        ({"tags": {1}}, TypeError),
        ({"weight": float("nan")}, ValueError),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value.__name__,
)
def test_a_wrong_option_is_refused_with_its_name(option: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(option))):
        JobOptions().merged(**option)


@pytest.mark.parametrize("field", [*sorted(RESERVED), "periodic_pjid", "periodic_anything"])
def test_a_field_of_the_payload_cannot_be_an_option(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is a field of the payload"):
        JobOptions().merged(**{field: "x"})


def test_options_share_nothing_with_the_caller_and_are_frozen() -> None:
    tags = ["a"]
    options = JobOptions().merged(tags=tags)
    tags.append("b")
    assert options.fields()["tags"] == ["a"]
    with pytest.raises(FrozenInstanceError):
        options.queue = "x"  # type: ignore[misc]  # what the test is about
    with pytest.raises(TypeError):
        options.extra["x"] = 1  # type: ignore[index]  # what the test is about


def test_options_that_nothing_changes_are_the_same_object() -> None:
    options = JobOptions()
    assert options.merged() is options


def test_what_a_class_defines_besides_options_is_left_alone() -> None:
    refuse_attributes("Job", {"queue": lambda self: 1, "size": 5, "name": "x"})
    with pytest.raises(TypeError, match=r"^Job\.queue: options are keywords"):
        refuse_attributes("Job", {"unique": "x", "queue": "low"})
