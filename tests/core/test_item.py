from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.item import read_item
from cogworker_django.core.options import JobOptions

REPORT = Blueprint.of("demo.jobs.Report", JobOptions().merged(queue="low", retry=5, team="a"))


class Report:
    cogworker_blueprint = REPORT


def registered(name: str) -> Blueprint | None:
    return REPORT if name == "demo.jobs.Report" else None


def test_a_registered_jobs_options_are_the_defaults() -> None:
    item = read_item({"class": "demo.jobs.Report", "args": [7]}, registered)
    assert item.blueprint is REPORT
    assert (item.args, item.kwargs, item.jid, item.at) == ([7], {}, None, None)


def test_an_items_own_options_win_and_unknown_keys_ride_along() -> None:
    item = read_item({"class": "demo.jobs.Report", "queue": "high", "colour": "red"}, registered)
    assert item.blueprint.fields == {"queue": "high", "retry": 5, "team": "a", "colour": "red"}


def test_a_job_may_be_given_itself_or_be_unknown_here() -> None:
    assert read_item({"class": Report}, registered).blueprint is REPORT
    other = read_item({"class": "other.Job", "retry": False}, registered).blueprint
    assert (other.name, other.fields) == ("other.Job", {"queue": "default", "retry": False})


def test_jid_and_time_may_be_given() -> None:
    item = read_item({"class": "other.Job", "jid": "mine", "at": 5}, registered)
    assert (item.jid, item.at) == ("mine", 5)


@pytest.mark.parametrize(
    ("item", "error", "sentence"),
    [
        ([], TypeError, "an item must be a dict"),
        ({}, TypeError, "class must be the name of a job"),
        ({"class": 5}, TypeError, "class must be the name of a job"),
        ({"class": int}, TypeError, "class must be the name of a job"),
        ({"class": ""}, ValueError, "job name"),
        ({"class": "x", 5: 1}, TypeError, "key 5 is not a string"),
        ({"class": "x", "args": "text"}, TypeError, "args must be a list or tuple"),
        ({"class": "x", "kwargs": [1]}, TypeError, "kwargs must be a dict"),
        ({"class": "x", "queue": "two words"}, ValueError, "queue name"),
        ({"class": "x", "retry": "5"}, TypeError, "retry must be"),
        ({"class": "x", "unique": "always"}, ValueError, "unique must be"),
        ({"class": "x", "jid": ""}, ValueError, "jid"),
        ({"class": "x", "jid": 5}, TypeError, "jid must be a string"),
        ({"class": "x", "enqueued_at": 5}, ValueError, "enqueued_at is a field of the payload"),
        ({"class": "x", "retry_count": 5}, ValueError, "retry_count is a field of the payload"),
        ({"class": "x", "colour": {1}}, TypeError, "colour: set"),
    ],
)
def test_a_wrong_item_is_refused_with_a_sentence(item: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        read_item(item, registered)
