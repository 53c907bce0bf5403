from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cogworker_django import job
from cogworker_django.web.cron_words import in_words
from tests.web.conftest import Login
from tests.web.pages import Pages


@job(queue="low")
def digest(section: str = "") -> None: ...


@job(unique="until_executed", name="tests.lonely")
def lonely() -> None: ...


DIGEST = f"{digest.job_class.__module__}.digest"


def publish(root: Pages, name: str = "nightly", cron: str = "30 2 * * *", **fields: Any) -> None:
    shown = {"cron": cron, "timezone": "Europe/Berlin", "job": DIGEST, "args": ["news"]} | fields
    root.redis.hset("t:periodic:entries", name, json.dumps(shown))


def test_without_any_it_says_how_to_have_one(root: Pages) -> None:
    """Z49."""
    assert "No worker has published a schedule yet." in root.text("schedules/")


def test_a_row_tells_when_what_and_how_it_went(root: Pages) -> None:
    """Z50, Z51, Z52."""
    publish(root, unique="until_executed")
    text = root.text("schedules/")
    for words in ("nightly", DIGEST, "30 2 * * *", "at 02:30", "Europe/Berlin", '"news"', "until_executed", "never"):
        assert words in text, words
    assert "Enabled" in text and "Run now" in text and "Disable" in text
    root.redis.hset("t:periodic:slots", "nightly", 1_700_000_000)
    root.redis.hset("t:periodic:runs", "nightly", json.dumps({"jid": "abc", "slot": 1, "outcome": "failed"}))
    page = root.get("schedules/")
    assert "2023-11-14 22:13:20" in page and 'href="/ops/jobs/jobs/abc/">failed' in page


def test_run_now_pushes_the_job_of_the_entry_once(root: Pages) -> None:
    """Z53: a form that is sent twice pushes once."""
    publish(root)
    op = re.search(r'name="op" value="([^"]+)"', root.get("schedules/"))
    assert op is not None
    assert "was pushed as job" in root.post("schedules/", do="run|nightly", op=op[1])
    assert "was pushed already" in root.post("schedules/", do="run|nightly", op=op[1])
    [raw] = root.redis.lrange("t:queue:low", 0, -1)
    payload = json.loads(raw)
    assert (payload["class"], payload["args"]) == (DIGEST, ["news"])
    assert "periodic_slot" not in payload
    assert "was pushed as job" in root.post("schedules/nightly/", do="run", op="other")


def test_run_now_tells_when_a_unique_job_is_there_already(root: Pages) -> None:
    publish(root, job="tests.lonely", args=[], unique="until_executed")
    assert "was pushed" in root.post("schedules/nightly/", do="run")
    assert "Nothing was pushed." in root.post("schedules/nightly/", do="run")
    publish(root, job="no.such.Job")
    assert "It could not be pushed" in root.post("schedules/nightly/", do="run") or root.redis.llen("t:queue:default")


def test_disable_and_enable_change_the_set_the_pill_and_the_button(root: Pages) -> None:
    """Z54."""
    publish(root)
    text = root.post("schedules/nightly/", do="disable", reason="the mail server moves")
    assert "Disabled by root." in text and "the mail server moves" in text and "Enable" in text
    assert root.redis.smembers("t:periodic:disabled") == {b"nightly"}
    listed = root.text("schedules/")
    assert "disabled" in listed and "the mail server moves" in listed
    assert "runs again from its next time on" in root.post("schedules/", do="enable|nightly")
    assert root.redis.smembers("t:periodic:disabled") == set() and not root.redis.exists("t:periodic:reasons")
    assert "was not disabled" in root.post("schedules/", do="enable|nightly")


def test_the_search_stays_with_what_is_done(root: Pages) -> None:
    """Z55, Z56."""
    for number in range(5):
        publish(root, f"entry {number}", args=[f"section-{number}"])
    text = root.text("schedules/?q=SECTION-3")
    assert "1 of 5 shown" in text and "entry 3" in text and "entry 2" not in text
    assert "No schedules match that search." in root.text("schedules/?q=nowhere")
    here = "/ops/jobs/schedules/?q=section-3"
    assert "1 of 5 shown" in root.post("schedules/?q=section-3", do="disable|entry 3", next=here)


def test_an_unknown_schedule_is_told(root: Pages) -> None:
    assert "No living worker knows" in root.text("schedules/none/", 404)
    assert "No living worker knows" in root.post("schedules/", do="run|none")
    publish(root)
    assert "no such action" in root.post("schedules/", do="explode|nightly")


@pytest.mark.parametrize(("cron", "zone"), [("99 * * * *", "UTC"), ("* * * * *", "No/Where"), ("", "UTC")])
def test_what_cannot_be_read_is_said_and_breaks_nothing(root: Pages, cron: str, zone: str) -> None:
    publish(root, cron=cron, timezone=zone)
    root.redis.hset("t:periodic:entries", "broken", "no json")
    assert "invalid cron" in root.text("schedules/")
    assert "cannot be read here" in root.text("schedules/nightly/")


def test_the_next_times_say_what_the_clocks_do(root: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    """B001, B010: the page says the same instants as the worker."""
    publish(root, cron="30 2 28-30 3 *")
    text = root.text("schedules/nightly/")
    assert "its usual time does not exist on this day" in text
    publish(root, "hourly", "25 8-16 * * *", timezone="Asia/Jakarta")
    assert re.search(r"\d\d:25 WIB", root.text("schedules/hourly/"))


def test_only_whoever_may_steer_schedules_can(login: Login) -> None:
    viewer = login("view_dashboard", "manage_jobs")
    publish(viewer)
    assert 'name="do"' not in viewer.get("schedules/") and 'name="do"' not in viewer.get("schedules/nightly/")
    viewer.post("schedules/", status=403, do="run|nightly")
    viewer.post("schedules/nightly/", status=403, do="disable")
    assert "1 of 1" in viewer.text("schedules/") and "news" not in viewer.text("schedules/")


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("*/7 * * * *", "every hour at minute 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
        ("0 * * * *", "every hour at minute 0"),
        ("@daily", "at 00:00"),
        ("30 2,14 * * *", "at 02:30 and 14:30"),
        ("0 8-17 * * mon-fri", "every hour at minute 0, in the hours 8 to 17 on Monday to Friday"),
        ("0 */6 * * *", "at 00:00, 06:00, 12:00 and 18:00"),
        ("15 */2 * * *", "every 2 hours at minute 15"),
        ("0 6 L * *", "at 06:00 on the last day of the month"),
        ("0 6 1,15 * mon", "at 06:00 on day 1 and 15 of the month or on Monday"),
        ("0 6 */2 * 6", "and on Saturday"),
        ("0 0 * 1,2 fri#2", "at 00:00 on the second Friday in January and February"),
        ("0 0 * * 7", "at 00:00 on Sunday"),
        ("* 3 * * *", "every minute of the hours 3"),
        ("nonsense", ""),
    ],
)
def test_expressions_in_words(cron: str, words: str) -> None:
    assert in_words(cron).endswith(words) if words.startswith("and") else in_words(cron) == words
