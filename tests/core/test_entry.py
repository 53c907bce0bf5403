"""What is a periodic entry and what is none (contract 5; reference 15.1)."""

from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core import codec
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.entry import Declaration, Entry, entries
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.options import JobOptions
from cogworker_django.core.registry import Registry
from cogworker_django.core.signature import CallSignature, perform_signature


class Report:
    cogworker_name = "shop.Report"

    @staticmethod
    def perform(user: int, kind: str = "pdf") -> None: ...


signature = perform_signature("shop.Report", Report.perform)
assert signature is not None
Report.cogworker_blueprint = Blueprint.of("shop.Report", JobOptions(), CallSignature("shop.Report", signature).check)  # type: ignore[attr-defined]


@pytest.fixture
def registry() -> Registry[Any]:
    found: Registry[Any] = Registry()
    found.add("shop.Report", (), Report)
    return found


def read(
    registry: Registry[Any], *fields: dict[str, Any], zone: str = "UTC", catch_up: bool = True
) -> tuple[Entry, ...]:
    declared = [
        Declaration(f"place {n}", {"cron": "0 * * * *", "job": Report, "args": [7], **each})
        for n, each in enumerate(fields)
    ]
    return entries(declared, registry, zone=zone, catch_up=catch_up)


def faults(registry: Registry[Any], *fields: dict[str, Any], zone: str = "UTC") -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read(registry, *fields, zone=zone)
    return list(caught.value.problems)


def test_an_entry_has_the_jobs_name_the_projects_zone_and_the_jobs_options_unless_it_says_otherwise(
    registry: Registry[Any],
) -> None:
    plain, full = read(
        registry,
        {},
        {
            "name": "nightly",
            "job": "shop.Report",
            "args": (7,),
            "kwargs": {"kind": "csv"},
            "timezone": "Europe/Rome",
            "queue": "low",
            "retry": 0,
            "unique": "until_executed",
            "catch_up": False,
        },
        zone="Asia/Jakarta",
    )
    assert (plain.name, plain.job, plain.cron.zone, plain.catch_up) == (
        "shop.Report",
        "shop.Report",
        "Asia/Jakarta",
        True,
    )
    assert (plain.options, plain.kwargs) == ({}, {})
    assert (full.name, full.cron.zone, full.args, full.kwargs) == ("nightly", "Europe/Rome", [7], {"kind": "csv"})
    assert full.options == {"queue": "low", "retry": 0, "unique": "until_executed"}
    assert full.catch_up is False
    assert codec.decode(full.published()) == {
        "cron": "0 * * * *",
        "timezone": "Europe/Rome",
        "job": "shop.Report",
        "args": [7],
        "kwargs": {"kind": "csv"},
        "queue": "low",
        "retry": 0,
        "unique": "until_executed",
        "catch_up": False,
    }


def test_the_projects_catch_up_holds_where_an_entry_says_nothing(registry: Registry[Any]) -> None:
    first, second = read(registry, {"name": "a"}, {"name": "b", "catch_up": True}, catch_up=False)
    assert (first.catch_up, second.catch_up) == (False, True)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"cron": "*/0 * * * *"}, "cron: the minute cannot be '*/0'"),
        ({"cron": None}, "cron: a cron expression is a string"),
        ({"cron": "0 0 30 2 *"}, "cron: no date ever matches"),
        ({"timezone": "Europe/Berln"}, "timezone: there is no time zone 'Europe/Berln'"),
        ({"timezone": 5}, "timezone: a time zone is named by a string"),
        ({"job": "nobody", "name": "x"}, "job: no job is registered under the name 'nobody'"),
        ({"job": 5, "name": "x"}, "job: must be a job or the name of one, not 5"),
        ({"name": ""}, "name: "),
        ({"name": "a\nb"}, "name: "),
        ({"name": 5}, "name: "),
        ({"args": "abc"}, "args: must be a list, not 'abc'"),
        ({"args": []}, "args: shop.Report.perform: missing a required argument: 'user'"),
        ({"args": [1, 2, 3]}, "too many positional arguments"),
        ({"args": [{1}]}, "args: args[0]: "),
        ({"args": [{1}, 2, 3]}, "args: args[0]: "),
        ({"kwargs": [1]}, "kwargs: must be a dict, not [1]"),
        ({"kwargs": {"kind": {1}}}, '): kwargs: kwargs["kind"]: '),
        ({"kwargs": {"nobody": 1}}, "unexpected keyword argument 'nobody'"),
        ({"queue": "no queue!"}, "queue: queue name 'no queue!' is not allowed"),
        ({"retry": -1}, "retry: retry must be 0 or more"),
        ({"unique": "always"}, "unique: unique must be"),
        ({"catch_up": 1}, "catch_up: must be True or False, not 1"),
        ({"every": 5}, "'every': is no field of an entry: use cron, job, name"),
        ({5: 5}, "): 5: is no field of an entry: use cron, job, name"),
        ({"name": ["x"]}, "name: job name must be a string, not ['x']"),
        ({"job": {}, "name": "x"}, "job: must be a job or the name of one, not {}"),
        ({"args": 0}, "args: must be a list, not 0"),
        ({"kwargs": ""}, "kwargs: must be a dict, not ''"),
    ],
)
def test_a_fault_names_its_entry_and_its_field(fields: dict[str, Any], told: str, registry: Registry[Any]) -> None:
    [fault] = faults(registry, fields)
    assert fault.startswith("place 0 (")
    assert told in fault


def test_all_faults_of_all_entries_are_told_in_one_go_and_the_sound_ones_are_not(registry: Registry[Any]) -> None:
    """Case B012, B016, B021."""
    found = faults(
        registry,
        {"name": "sound"},
        {"name": "a", "cron": "60 * * * *", "timezone": "Nowhere"},
        {"name": "b", "retry": "x", "args": 5},
        {"name": "sound too"},
    )
    assert len(found) == 4
    assert [fault.split(":")[0] for fault in found] == [
        "place 1 ('a')",
        "place 1 ('a')",
        "place 2 ('b')",
        "place 2 ('b')",
    ]


def test_of_a_long_name_the_beginning_is_told(registry: Registry[Any]) -> None:
    [fault] = faults(registry, {"name": "x" * 100, "retry": -1})
    assert fault.startswith(f"place 0 ('{'x' * 59}…): retry: ")


def test_a_name_used_twice_is_told(registry: Registry[Any]) -> None:
    [fault] = faults(registry, {}, {"name": "other"}, {})
    assert fault == "place 2 ('shop.Report'): the name is used twice; give each entry a name of its own."


def test_a_name_used_twice_is_told_although_the_first_of_them_has_other_faults(registry: Registry[Any]) -> None:
    found = faults(registry, {"cron": "no"}, {})
    assert [fault.split(": ")[:2] for fault in found] == [
        ["place 0 ('shop.Report')", "cron"],
        ["place 1 ('shop.Report')", "the name is used twice; give each entry a name of its own."],
    ]


def test_unknown_fields_are_told_in_the_order_in_which_they_stand(registry: Registry[Any]) -> None:
    found = faults(registry, {"zone": 1, "every": 2, "at": 3})
    assert [fault.split(": ")[1] for fault in found] == ["'zone'", "'every'", "'at'"]


def test_what_is_no_dict_is_told_beside_the_faults_of_others(registry: Registry[Any]) -> None:
    declared = [Declaration("place 0", "x"), Declaration("place 1", {"cron": "no", "job": "shop.Report", "args": [7]})]
    with pytest.raises(ConfigurationError) as caught:
        entries(declared, registry, zone="UTC", catch_up=True)
    assert caught.value.problems[0] == "place 0: must be a dict with cron, job and name, not 'x'."
    assert caught.value.problems[1].startswith("place 1 ('shop.Report'): cron: ")


def test_entries_whose_name_is_none_are_named_after_their_jobs(registry: Registry[Any]) -> None:
    [entry] = read(registry, {"name": None})
    assert entry.name == "shop.Report"


def test_a_wrong_zone_of_the_project_is_told_by_the_entries_that_need_it(registry: Registry[Any]) -> None:
    [fault] = faults(registry, {"name": "a"}, {"name": "b", "timezone": "UTC"}, zone="Nowhere")
    assert fault.startswith("place 0 ('a'): timezone: ")
