from __future__ import annotations

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


def faults_of(open_tab: OpenTab, reader: Pages, paths: list[str], width: int, theme: str) -> list[str]:
    tab = open_tab(reader, width=width, theme=theme)
    found = []
    for path in paths:
        tab.go(path)
        found += [f"{path}: {fault}" for fault in tab.axe()]
        if tab.overflow() > 0:
            found.append(f"{path}: {tab.overflow()} px too wide")
    return found


@pytest.mark.timeout(180)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 360, 320])
def test_every_page_is_accessible_and_fits(
    filled: Pages, open_tab: OpenTab, watch: Watch, width: int, theme: str
) -> None:
    watch.expected = ("404",)
    run = re.search(r'href="/ops/jobs/(history/[^"?]+~[^"?]+/)"', filled.get("history/?status=failed"))
    assert run is not None
    assert faults_of(open_tab, filled, [*PATHS, run[1]], width, theme) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("width", [1280, 320])
def test_an_empty_installation_too(root: Pages, open_tab: OpenTab, watch: Watch, width: int) -> None:
    watch.expected = ("404",)
    assert faults_of(open_tab, root, PATHS, width, "light") == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_a_reader_without_rights_sees_too(
    filled: Pages, login: Login, open_tab: OpenTab, watch: Watch, theme: str
) -> None:
    watch.expected = ("404",)
    assert faults_of(open_tab, login("view_dashboard"), PATHS, 360, theme) == []


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
