"""`periodic`: saying what shall run when (contract 5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import override_settings

from cogworker_django import checks, conf, definition, periodic, schedule
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job, job
from cogworker_django.schedule import Periodic


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Periodic:
    """Nothing is registered yet."""
    registry: Registry[type[Job]] = Registry()
    for module in (definition, conf, checks):
        monkeypatch.setattr(module, "REGISTRY", registry)
    monkeypatch.setattr(periodic, "declared", [])
    return periodic


def loaded() -> dict[str, Any]:
    return {entry.name: entry for entry in conf.load_entries(conf.load_config())}


def test_an_entry_is_registered_by_a_call_or_above_a_job() -> None:
    @periodic("0 * * * *")
    @job(name="hourly")
    def hourly() -> None: ...

    class Digest(Job):
        def perform(self, parts: dict[str, str]) -> None: ...

    given = periodic(
        "*/5 * * * *",
        Digest,
        name="digest",
        args=[{"section": "digest"}],
        unique="until_executed",
        timezone="Europe/Rome",
        retry=0,
        catch_up=True,
    )
    assert given is Digest
    assert hourly() is None
    found = loaded()
    assert set(found) == {"hourly", "digest"}
    assert found["digest"].cron.zone == "Europe/Rome"
    assert found["digest"].args == [{"section": "digest"}]
    assert found["digest"].options == {"unique": "until_executed", "retry": 0}


def test_an_entry_stands_in_the_settings_too() -> None:
    @job(name="tidy")
    def tidy(what: str) -> None: ...

    with override_settings(
        COGWORKER={"PERIODIC": [{"cron": "@daily", "job": "tidy", "args": ["attic"]}], "PERIODIC_CATCH_UP": False},
        TIME_ZONE="Asia/Jakarta",
    ):
        [entry] = loaded().values()
    assert (entry.name, entry.args, entry.cron.zone, entry.catch_up) == ("tidy", ["attic"], "Asia/Jakarta", False)


def test_a_job_may_have_several_entries() -> None:
    @periodic("0 * * * *", name="first")
    @periodic("30 * * * *", name="second")
    @job
    def often() -> None: ...

    assert set(loaded()) == {"first", "second"}


def test_checks_tell_every_fault_with_where_it_stands() -> None:
    """Case B012, B021."""

    @periodic("60 * * * *", name="wrong")
    @periodic("0 * * * *", name="sound")
    @job(name="often")
    def often() -> None: ...

    with override_settings(COGWORKER={"PERIODIC": [{"cron": "0 0 30 2 *", "job": "often", "name": "never"}]}):
        found = [error for error in checks.check_cogworker() if error.id == "cogworker.E005"]
    assert [error.msg for error in found] == [
        f"periodic in {__name__} ('wrong'): cron: the minute cannot be '60': it is 0 to 59.",
        "COGWORKER[\"PERIODIC\"][0] ('never'): cron: no date ever matches '0 0 30 2 *'.",
    ]


def test_checks_tell_the_faults_of_one_entry_whatever_is_wrong_with_another() -> None:
    """Case B021: a typing error in one dict hides no fault of the others, nor of those in code."""

    @periodic("60 * * * *", name="wrong")
    @job(name="often")
    def often() -> None: ...

    given: list[object] = [5, {"crom": "@daily"}, {"cron": "@daily", "job": "often", "name": []}, {"job": "nobody"}]
    with override_settings(COGWORKER={"PERIODIC": given}):
        found = [str(error.msg) for error in checks.check_cogworker()]
    places = [f"periodic in {__name__}", *(f'COGWORKER["PERIODIC"][{n}]' for n in range(len(given)))]
    assert all(any(text.startswith(place) for text in found) for place in places)


def test_upcoming_lists_what_the_worker_follows() -> None:
    """Case B001."""
    after = datetime(2026, 3, 28, tzinfo=ZoneInfo("Europe/Berlin"))
    found = periodic.upcoming("30 2 * * *", timezone="Europe/Berlin", after=after, count=3)
    assert [when.astimezone(UTC).strftime("%d %H:%M") for when in found] == ["28 01:30", "29 01:00", "30 00:30"]


def test_upcoming_is_in_the_projects_zone_and_from_now_on() -> None:
    """Case B010."""
    with override_settings(TIME_ZONE="Asia/Jakarta"):
        [first, *rest] = periodic.upcoming("25 8 * * *")
    assert (first.hour, first.minute, first.tzinfo) == (8, 25, ZoneInfo("Asia/Jakarta"))
    assert first > datetime.now(UTC)
    assert len(rest) == 4


@pytest.mark.parametrize(
    ("cron", "asked", "told"),
    [
        ("*/0 * * * *", {}, "a step is 1 or more"),
        ("* * * * *", {"timezone": "Nowhere"}, "there is no time zone"),
        ("* * * * *", {"after": datetime(2026, 1, 1)}, "after has no time zone"),
    ],
)
def test_upcoming_refuses_what_is_wrong(cron: str, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        periodic.upcoming(cron, **asked)


def test_outside_of_django_the_zone_is_utc() -> None:
    assert schedule.Periodic().upcoming("0 0 * * *", count=1)[0].tzinfo == ZoneInfo("UTC")
