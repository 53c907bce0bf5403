"""What `manage.py check` says about entries of `TASKS`."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.core.checks import CheckMessage, run_checks
from django.tasks import task_backends
from django.test import override_settings

from tests.tasks.conftest import BACKEND


def told(entry: dict[str, Any], **cogworker: Any) -> list[tuple[str, str]]:
    """Ids and messages about one entry."""
    tasks = {"default": {"BACKEND": BACKEND, **entry}}
    with override_settings(TASKS=tasks, COGWORKER={**settings.COGWORKER, **cogworker}):
        messages: list[CheckMessage] = task_backends["default"].check()
        assert all(message.hint for message in messages)
        return [(str(message.id), message.msg) for message in messages]


def test_a_sound_entry_says_nothing() -> None:
    assert told({}) == []
    assert told({"QUEUES": ["low"], "OPTIONS": {"retry": 3, "on_commit": True}}, QUEUES=["low"]) == []
    assert told({"QUEUES": []}) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unique": "until_executed"}, 'TASKS["default"]["OPTIONS"][\'unique\']: there is no such option.'),
        ({"retry": -1}, 'TASKS["default"]["OPTIONS"][\'retry\']: retry must be 0 or more, not -1.'),
        (
            {"on_commit": 1},
            'TASKS["default"]["OPTIONS"][\'on_commit\']: on_commit must be True, False or a database alias, not 1.',
        ),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    assert told({"OPTIONS": options}) == [("cogworker.E008", message)]


def test_queues_are_named_that_cannot_be_or_that_nobody_serves() -> None:
    (bad, unserved) = told({"QUEUES": ["default", "no way", "low"]})[::-1]
    assert bad[0] == "cogworker.E009"
    assert "queue name 'no way' is not allowed" in bad[1]
    assert unserved == (
        "cogworker.W001",
        'TASKS["default"]["QUEUES"]: COGWORKER["QUEUES"] does not name \'low\', so a worker does not serve it.',
    )


def test_results_need_statuses() -> None:
    assert told({}, STATUS=None) == [
        ("cogworker.W002", 'TASKS["default"]: results are not kept while COGWORKER["STATUS"] is None.')
    ]


def test_faults_of_the_settings_are_left_to_their_own_check() -> None:
    assert told({"QUEUES": ["low"]}, CONCURRENCY="many") == []


def test_the_app_must_be_installed() -> None:
    with override_settings(INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"]):
        assert ("cogworker.E007", 'TASKS["default"] needs the app cogworker_django, which is not installed.') in told(
            {}
        )


@override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"colour": "red"}}})
def test_the_framework_runs_the_check() -> None:
    assert "cogworker.E008" in {message.id for message in run_checks()}
