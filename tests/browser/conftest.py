"""A real browser on the real pages: Chromium, with everything that it must not do failing the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread

from tests.browser.tabs import Tab, Watch
from tests.web.conftest import login, root, site, viewer
from tests.web.pages import MOUNT, Pages

__all__ = ["login", "root", "site", "viewer"]

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OpenTab = Callable[..., Tab]


def _chromium() -> str | None:
    """The machine's browser; else Playwright's own, which is fetched when it is not there."""
    found = os.environ.get("COGWORKER_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        if subprocess.run(command, capture_output=True, timeout=120, check=False).returncode:
            pytest.skip("there is no Chromium, and none could be installed")
    return found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, started once."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The project's pages over HTTP."""
    thread = LiveServerThread("127.0.0.1", StaticFilesHandler)
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Whatever went wrong in any tab of the test fails it at its end."""
    seen = Watch()
    yield seen
    assert seen.faults == []


@pytest.fixture
def open_tab(chromium: Any, server: str, watch: Watch) -> Iterator[OpenTab]:
    """Open a tab for somebody who has logged in."""
    contexts = []

    def opened(reader: Pages, *, width: int = 1280, theme: str = "light", script: bool = True, **more: Any) -> Tab:
        size = {"width": width, "height": 900}
        context = chromium.new_context(
            viewport=size,
            color_scheme=theme,
            reduced_motion="reduce",
            java_script_enabled=script,
            base_url=server + MOUNT,
            **more,
        )
        contexts.append(context)
        session = reader.browser.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": server}])
        return Tab(context.new_page(), server, watch)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def filled(root: Pages) -> Pages:
    """An installation with something in every place."""
    fill(root)
    return root


def fill(root: Pages) -> None:
    """Put something everywhere."""
    now = float(root.redis.time()[0])
    error = {"error_class": "TimeoutError", "error_message": "the service did not answer", "retry_count": 3}
    for number in range(60):
        root.push(
            number, "default", klass="shop.jobs.SendReceipt", args=[number, {"kind": "pdf"}], enqueued_at=now - 90
        )
    root.push(100, "low", klass="crm.jobs.Sync")
    root.redis.sadd("t:paused_queues", "low")
    for number in range(200, 230):
        root.add("retry", number, now + number, klass="billing.jobs.ChargeCard", failed_at=now, **error)
        root.add("dead", number + 100, now - number, klass="media.jobs.Resize", failed_at=now, **error)
        root.add("schedule", number + 200, now + number, klass="reports.jobs.Nightly")
    attempt = (
        b'{"attempt":1,"failed_at":%d,"outcome":"retry","error_class":"E","error_message":"m","backtrace":["a","b"]}'
    )
    root.redis.rpush(f"t:job_attempts:{200:024}", attempt % now)
    root.redis.hset(
        "t:periodic:entries", "nightly", b'{"cron":"30 2 * * *","timezone":"Europe/Rome","job":"a.B","args":[1]}'
    )
    root.redis.hset("t:periodic:runs", "nightly", b'{"jid":"x","slot":5,"outcome":"complete"}')
    for number in range(60):
        status = "failed" if number % 5 == 0 else "success"
        run = '{"jid":"%024d","class":"shop.jobs.SendReceipt","queue":"default","status":"%s","started_at":%f,'
        run += '"finished_at":%f,"host":"web1:77:abc","args":[1]'
        run += ',"error_class":"OSError","error_message":"away","backtrace":["x"]}' if status == "failed" else "}"
        raw = run % (number, status, now - number - 1, now - number)
        root.redis.rpush("t:history:all", raw)
        root.redis.rpush(f"t:history:{status}", raw)
    job = {"class": "shop.jobs.Slow", "jid": "running", "args": [1], "queue": "default"}
    root.beat(work=[{"thread": "t-1", "queue": "default", "run_at": now - 20, "payload": job}])
    root.beat("web2:5:def", quiet=True)
    root.redis.hset("t:beats", "gone:1:x", f"{now - 100} 0 10")
    root.redis.hset(f"t:throughput:{int(now) // 3600}", mapping={"processed": 120, "failed": 7})
