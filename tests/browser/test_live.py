from __future__ import annotations

import re

import pytest
from django.test import override_settings

from tests.browser.conftest import OpenTab
from tests.browser.tabs import Watch
from tests.web.pages import Pages

pytestmark = pytest.mark.slow


def quick(url: str) -> override_settings:
    """Refresh as often as the pages can."""
    return override_settings(COGWORKER={"REDIS": url, "PREFIX": "t:", "WEB": {"LIVE_UPDATE_INTERVAL": 1}})


def test_what_has_changed_shows_by_itself(root: Pages, open_tab: OpenTab) -> None:
    """Z37, Z61, Z64: without navigation."""
    with quick(root.url):
        tab = open_tab(root)
        tab.go("jobs/?state=dead")
        tab.page.evaluate("window.stayed = true")
        root.add("dead", 1, 1e9, klass="shop.jobs.New")
        tab.page.wait_for_selector("text=shop.jobs.New")
        assert tab.page.evaluate("window.stayed") is True


def test_choices_focus_scroll_and_what_is_open_survive(filled: Pages, open_tab: OpenTab) -> None:
    with quick(filled.url):
        tab = open_tab(filled)
        tab.go(f"jobs/{200:024}/")
        tab.page.click("#attempt-1 summary")
        opened = tab.page.evaluate("document.querySelector('main details').open")
        filled.redis.set(f"t:status:{200:024}", '{"status":"retrying","message":"news of it","update_time":5}')
        tab.page.wait_for_selector("text=news of it")
        assert tab.page.evaluate("document.querySelector('main details').open") == opened

        tab.go("jobs/?state=retrying")
        tab.page.locator('input[name="key"]').nth(3).check()
        tab.page.evaluate("window.scrollTo(0, 300)")
        assert "1 selected" in tab.text()
        filled.add("retry", 999, 1e9, klass="shop.jobs.First")
        tab.page.wait_for_timeout(2_500)
        assert tab.page.locator('input[name="key"]:checked').count() == 1
        assert tab.page.evaluate("window.scrollY") == 300
        assert "shop.jobs.First" not in tab.text(), "nothing moves under a selection"
        tab.page.locator('input[name="key"]:checked').uncheck()
        tab.page.locator('input[name="key"]').nth(0).focus()
        tab.page.wait_for_selector("text=shop.jobs.First")
        tab.page.fill('input[name="q"]', "half a wo")
        filled.add("retry", 998, 1e9, klass="shop.jobs.Second")
        tab.page.wait_for_timeout(2_000)
        assert tab.page.input_value('input[name="q"]') == "half a wo"


def test_an_outage_is_told_and_its_end_too(root: Pages, open_tab: OpenTab, watch: Watch) -> None:
    watch.expected = ("503",)
    with quick(root.url):
        tab = open_tab(root)
        tab.go("workers/")
        with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1", "WEB": {"LIVE_UPDATE_INTERVAL": 1}}):
            tab.page.wait_for_selector("#cw-stale:visible")
            assert "could not be refreshed" in tab.page.inner_text("#cw-stale")
        tab.page.wait_for_selector("#cw-stale", state="hidden")


def test_live_can_be_switched_off_everywhere(root: Pages, open_tab: OpenTab) -> None:
    """Z70."""
    with quick(root.url):
        tab = open_tab(root)
        tab.go("jobs/?state=dead")
        tab.page.click("[data-cw-live-toggle]")
        assert tab.page.get_attribute("[data-cw-live-toggle]", "aria-pressed") == "false"
        root.add("dead", 1, 1e9, klass="shop.jobs.New")
        tab.page.wait_for_timeout(1_800)
        assert "shop.jobs.New" not in tab.text()
        tab.go("workers/")
        assert tab.page.get_attribute("[data-cw-live-toggle]", "aria-pressed") == "false"


def test_a_question_stays_until_it_is_answered(root: Pages, open_tab: OpenTab) -> None:
    root.add("dead", 1, 1e9)
    with quick(root.url):
        tab = open_tab(root)
        tab.go("jobs/?state=dead")
        tab.page.click('button:has-text("Delete all")')
        tab.page.wait_for_timeout(2_500)
        assert "Delete all jobs that match?" in tab.text()


def test_times_are_the_readers_own(root: Pages, open_tab: OpenTab) -> None:
    """Z66, B134."""
    root.add("dead", 1, 1_782_864_000.0)
    tab = open_tab(root, timezone_id="America/New_York")
    tab.go("jobs/?state=dead")
    time = tab.page.locator("main time").first
    assert time.inner_text() == "2026-06-30 20:00:00"
    assert time.get_attribute("datetime") == "2026-07-01T00:00:00+00:00"
    plain = open_tab(root, timezone_id="America/New_York", script=False)
    with override_settings(TIME_ZONE="Asia/Kolkata"):
        plain.go("jobs/?state=dead")
    assert plain.page.locator("main time").first.inner_text() == "2026-07-01 05:30:00 IST"


def test_a_dialog_asks_and_the_answer_counts(root: Pages, open_tab: OpenTab) -> None:
    for number in range(3):
        root.add("dead", number, 1e9 + number)
    tab = open_tab(root)
    tab.go("jobs/?state=dead")
    button = tab.page.locator('tbody button:has-text("Delete")').first
    button.click()
    tab.page.click('dialog button:has-text("Cancel")')
    assert root.redis.zcard("t:dead") == 3
    assert tab.page.evaluate("document.activeElement.value.startsWith('delete|')"), "the focus is where it was"
    button.click()
    tab.page.click('dialog button:has-text("Delete")')
    tab.page.wait_for_selector("text=1 job was deleted.")
    assert root.redis.zcard("t:dead") == 2


def test_shift_chooses_a_range_and_the_head_the_page(filled: Pages, open_tab: OpenTab) -> None:
    tab = open_tab(filled)
    tab.go("jobs/?state=retrying")
    boxes = tab.page.locator('input[name="key"]')
    boxes.nth(2).click()
    boxes.nth(6).click(modifiers=["Shift"])
    assert "5 selected" in tab.text()
    tab.page.click("[data-cw-all]")
    assert "30 selected" in tab.text()
    tab.page.click('.bulk button:has-text("Retry")')
    tab.page.wait_for_selector("text=30 jobs are on their queues now.")
    assert filled.redis.zcard("t:retry") == 0


def test_every_button_works_without_javascript(filled: Pages, open_tab: OpenTab) -> None:
    """Z34, Z41: the questions are pages then."""
    tab = open_tab(filled, script=False)
    tab.go("")
    tab.page.click('button[value="pause|default"]')
    assert "default is paused" in tab.page.inner_text("#cw-notices")
    tab.go("jobs/?state=dead")
    tab.page.locator('input[name="key"]').first.check()
    tab.page.click('.bulk button:has-text("Delete")')
    tab.page.click('main button:has-text("Delete")')
    assert "1 job was deleted." in tab.page.inner_text("#cw-notices")
    assert re.search(r"/jobs/\?state=dead$", tab.page.url)
    tab.go("schedules/nightly/")
    tab.page.fill('input[name="reason"]', "the mail server moves")
    tab.page.click('button:has-text("Disable")')
    assert "the mail server moves" in tab.text()
    tab.go("workers/")
    tab.page.locator('button:has-text("Stop")').first.click()
    tab.page.click('main button:has-text("Stop")')
    assert "was told to finish" in tab.page.inner_text("#cw-notices")
    tab.page.click("summary:has-text('View')")
    tab.page.click('button:has-text("Dark")')
    assert tab.page.get_attribute("html", "data-theme") == "dark"
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 30)"


def test_a_keyboard_is_enough(filled: Pages, open_tab: OpenTab) -> None:
    tab = open_tab(filled)
    tab.go("jobs/?state=dead")
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.className") == "skip"
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "cw-main"
    tab.page.locator('tbody button:has-text("Retry")').first.focus()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("text=1 job is on its queue now.")
    assert filled.redis.zcard("t:dead") == 29


def test_an_operation_goes_on_by_itself_while_it_is_looked_at(filled: Pages, open_tab: OpenTab) -> None:
    tab = open_tab(filled)
    tab.go("jobs/?state=dead")
    tab.page.click('button:has-text("Delete all")')
    assert "all jobs that match" in tab.text()
    tab.page.click('main button:has-text("Delete all")')
    tab.page.wait_for_selector('h1:has-text("Done")')
    assert filled.redis.zcard("t:dead") == 0
    assert tab.axe() == []
