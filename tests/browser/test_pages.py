from __future__ import annotations

import itertools
import os
import re
from typing import Any

import pytest
from django.test import override_settings

from tests.browser.conftest import OpenTab
from tests.browser.tabs import Watch
from tests.web.conftest import Login
from tests.web.pages import MOUNT, Pages

pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
pytestmark = pytest.mark.slow

JOB = f"jobs/{200:024}/"
PATHS = [
    *("", "?layout=b&queue=default", "queues/default/", "jobs/", "jobs/?state=enqueued", "jobs/?state=running"),
    *("jobs/?state=scheduled", "jobs/?state=retrying", "jobs/?state=dead", "jobs/?q=shop", JOB, "jobs/none/"),
    *("schedules/", "schedules/nightly/", "workers/", "workers/web1:77:abc/", "history/", "history/?class=shop"),
]


WIDTHS = (1280, 768, 360, 320)
EVERYTHING = bool(os.environ.get("COGWORKER_SOAK"))


def faults_of(open_tab: OpenTab, reader: Pages, paths: list[str], looks: list[tuple[int, str]]) -> list[str]:
    """Look at pages in several widths and themes; return what axe finds and what does not fit."""
    tab = open_tab(reader)
    found = []
    for path in paths:
        tab.go(path)
        for width in WIDTHS:
            tab.page.set_viewport_size({"width": width, "height": 900})
            if tab.overflow() > 0:
                found.append(f"{path} at {width}: {tab.overflow()} px too wide")
        for width, theme in looks:
            tab.page.set_viewport_size({"width": width, "height": 900})
            tab.page.emulate_media(color_scheme=theme)
            found += [f"{path} at {width}, {theme}: {fault}" for fault in tab.axe()]
    return found


@pytest.mark.timeout(600)
def test_every_page_is_accessible_and_fits(filled: Pages, open_tab: OpenTab, watch: Watch) -> None:
    """In both themes and all widths with COGWORKER_SOAK; else in a width of each."""
    watch.expected = ("404",)
    looks = list(itertools.product(WIDTHS, ("light", "dark"))) if EVERYTHING else [(1280, "light"), (360, "dark")]
    run = re.search(r'href="/ops/jobs/(history/[^"?]+~[^"?]+/)"', filled.get("history/?status=failed"))
    assert run is not None
    assert faults_of(open_tab, filled, [*PATHS, run[1]], looks) == []


@pytest.mark.timeout(180)
def test_an_empty_installation_too(root: Pages, open_tab: OpenTab, watch: Watch) -> None:
    watch.expected = ("404",)
    assert faults_of(open_tab, root, PATHS, [(320, "light")]) == []


@pytest.mark.timeout(180)
def test_what_a_reader_without_rights_sees_too(filled: Pages, login: Login, open_tab: OpenTab, watch: Watch) -> None:
    watch.expected = ("404",)
    assert faults_of(open_tab, login("view_dashboard"), PATHS, [(768, "dark")]) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_refusals_questions_and_outages_too(
    filled: Pages, login: Login, open_tab: OpenTab, watch: Watch, theme: str
) -> None:
    watch.expected = ("403", "503")
    nobody = open_tab(login("manage_jobs"), theme=theme)
    assert (nobody.go(), nobody.axe()) == (403, [])
    asked = open_tab(filled, theme=theme, script=False)
    asked.go("queues/default/")
    asked.page.click("text=Delete all")
    assert "Delete all jobs of default?" in asked.text()
    with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1"}):
        tab = open_tab(filled, theme=theme)
        assert (tab.go("jobs/"), tab.axe(), tab.overflow()) == (503, [], 0)
    dialog = open_tab(filled, theme=theme)
    dialog.go("queues/default/")
    dialog.page.click("text=Delete all")
    assert dialog.axe() == []
    dialog.page.keyboard.press("Escape")
    assert filled.redis.llen("t:queue:default") == 60


@pytest.mark.timeout(120)
def test_every_link_leads_somewhere(filled: Pages, open_tab: OpenTab, watch: Watch) -> None:
    """Crawled as somebody who may do everything; no page answers with an error of the server."""
    todo, seen = [(MOUNT, 0)], dict[str, int]()
    while todo:
        path, depth = todo.pop(0)
        if path in seen or len(seen) > 120:
            continue
        answer = filled.browser.get(path)
        seen[path] = answer.status_code
        if depth < 3:
            links = re.findall(r'href="([^"#]+)', answer.content.decode())
            todo += [(link.replace("&amp;", "&"), depth + 1) for link in links if link.startswith(MOUNT)]
    assert len(seen) > 60
    # Jobs that only the history knows, and workers of the past, are told to be gone.
    assert {path: status for path, status in seen.items() if status not in (200, 404)} == {}
    gone = [path for path, status in seen.items() if status == 404]
    assert all(path.startswith((f"{MOUNT}jobs/", f"{MOUNT}workers/")) for path in gone)


@pytest.mark.parametrize(
    "nasty", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)"]
)
def test_hostile_text_runs_nowhere(root: Pages, open_tab: OpenTab, watch: Watch, nasty: str) -> None:
    """B118."""
    watch.expected = ("404",)
    fields: dict[str, Any] = {"klass": nasty, "args": [nasty], "error_class": nasty, "error_message": nasty}
    root.push(1, **fields)
    root.add("dead", 2, 1e9, **fields)
    root.beat(
        tag=nasty, version=nasty, work=[{"thread": nasty, "queue": nasty, "run_at": 5, "payload": {"class": nasty}}]
    )
    tab = open_tab(root)
    for path in ("", "?layout=b", "jobs/", f"jobs/{1:024}/", f"jobs/{2:024}/", "workers/", f"jobs/?q={nasty}"):
        tab.go(path)
        assert tab.page.locator("main img").count() == 0
