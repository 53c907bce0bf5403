from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.test import override_settings

from cogworker_django import checks, job
from cogworker_django.definition import REGISTRY
from tests.support import ROOT, finished, manage


def no_function(payload: object) -> None:
    """Takes too few arguments for whatever it is named as."""


async def no_coroutine(job: object, payload: object, queue: object, proceed: object) -> None:
    """Nobody would await it."""


NO_CALLABLE = 5


class NoCall:
    """Its objects cannot be called."""


class Sized:
    """A sound middleware with an argument."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, job: Any, payload: Any, queue: str, proceed: Any) -> Any:
        return proceed()


def found(**settings: object) -> list[CheckMessage]:
    with override_settings(COGWORKER=settings):
        return run_checks(tags=["cogworker"])


def test_a_sound_project_has_nothing_to_report() -> None:
    assert found(SERVER_MIDDLEWARE=[("tests.test_checks.Sized", {"size": 1})], IMPORTS=["json"]) == []


def test_each_fault_of_the_settings_is_an_error_of_its_own_with_a_hint() -> None:
    messages = found(CONCURRENCY=0, QUEUES=["ok", "no no"], COLOUR="red")
    assert [(message.id, message.level) for message in messages] == [("cogworker.E001", 40)] * 3
    assert [message.msg.partition(":")[0] for message in messages] == [
        'COGWORKER["COLOUR"]',
        'COGWORKER["CONCURRENCY"]',
        'COGWORKER["QUEUES"][1]',
    ]
    assert all(message.hint for message in messages)


@pytest.mark.parametrize(
    ("key", "entry", "expected"),
    [
        ("SERVER_MIDDLEWARE", "no.such.thing", "cannot be imported: ModuleNotFoundError"),
        ("SERVER_MIDDLEWARE", "tests.test_checks.nowhere", "cannot be imported: ImportError"),
        ("SERVER_MIDDLEWARE", "tests.test_checks.NO_CALLABLE", "neither a class nor a function"),
        ("SERVER_MIDDLEWARE", "tests.test_checks.no_function", "cannot be called with 4 arguments"),
        ("CLIENT_MIDDLEWARE", "tests.test_checks.no_function", "cannot be called with 5 arguments"),
        ("CLIENT_MIDDLEWARE", ("tests.test_checks.Sized", {"size": 1}), "cannot be called with 6 arguments"),
        ("SERVER_MIDDLEWARE", "tests.test_checks.no_coroutine", "write it without async"),
        ("SERVER_MIDDLEWARE", "tests.test_checks.Sized", "missing a required argument: 'size'"),
        ("SERVER_MIDDLEWARE", ("tests.test_checks.Sized", {"sise": 1}), "argument"),
        ("SERVER_MIDDLEWARE", "tests.test_checks.NoCall", "needs a method __call__"),
        ("DEATH_HANDLERS", "tests.test_checks.no_function", "cannot be called with 2 arguments"),
    ],
)
def test_what_the_settings_name_is_imported_and_must_be_callable(key: str, entry: object, expected: str) -> None:
    (message,) = found(**{key: [entry]})
    assert message.id == "cogworker.E002"
    assert message.msg.startswith(f'COGWORKER["{key}"][0]: ')
    assert expected in message.msg


def test_all_hooks_are_tried_whatever_the_first_one_says() -> None:
    messages = found(SERVER_MIDDLEWARE=["a.b", "c.d"], CLIENT_MIDDLEWARE=["e.f"], DEATH_HANDLERS=["g.h"])
    assert len(messages) == 4


def test_a_missing_module_of_imports_is_reported() -> None:
    (message,) = found(IMPORTS=["json", "json.nowhere"])
    assert message.id == "cogworker.E003"
    assert message.msg == 'COGWORKER["IMPORTS"][1]: there is no module json.nowhere.'


def test_one_name_for_two_jobs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(REGISTRY, "_claims", {})

    @job(name="twice")
    def first() -> None: ...

    @job(name="twice")
    def second() -> None: ...

    (message,) = found()
    assert message.id == "cogworker.E004"
    assert "'twice'" in message.msg


def test_a_check_of_other_apps_only_leaves_ours_out() -> None:
    with override_settings(COGWORKER={"COLOUR": "red"}):
        assert checks.check_cogworker([]) == []


def test_manage_check_reports_all_of_it_and_fails() -> None:
    code, _, err = finished(manage("check", settings="tests.management.faulty_settings"))
    assert code == 1
    assert err.count("cogworker.E001") == 2
    assert "Traceback" not in err


def test_every_id_of_a_check_stands_in_the_readme() -> None:
    """And no other."""
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cogworker_django").rglob("*check*.py"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(?:cogworker\.)?([EW]\d{3})`", readme))
    assert told == set(re.findall(r'"cogworker\.([EW]\d{3})"', code))
