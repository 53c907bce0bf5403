from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import clear_url_caches

from cogworker_django.web.extend import register_tab
from cogworker_django.web.tabs import unregister_tab
from tests.web.conftest import Login
from tests.web.pages import MOUNT, Pages


def ping(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"pong {request.method}")


@pytest.fixture
def tabs() -> Iterator[None]:
    register_tab("hi", "Greet <us>", "tests.web.extension")
    register_tab("ping", "Ping", ping, permission="auth.view_user")
    _reload()
    yield
    unregister_tab("hi")
    unregister_tab("ping")
    _reload()


def _reload() -> None:
    for name in ("cogworker_django.urls", "tests.web.urls"):
        sys.modules.pop(name, None)
    clear_url_caches()


def test_a_tab_has_its_place_and_its_addresses(tabs: None, root: Pages) -> None:
    """N1, N2, N6."""
    page = root.get()
    assert f'<a href="{MOUNT}hi/">Greet &lt;us&gt;</a>' in page
    shown = root.get("hi/")
    assert "Hello nobody" in shown and f'href="{MOUNT}hi/" aria-current="page"' in shown
    assert "<title>Greet" in shown
    assert "Hello Ada" in root.text("hi/Ada/")
    assert root.browser.get(MOUNT + "ping/").content == b"pong GET"
    assert root.browser.post(MOUNT + "ping/").content == b"pong POST"
    assert "Content-Security-Policy" in root.browser.get(MOUNT + "ping/")


def test_a_tab_is_guarded_as_our_own_pages_are(tabs: None, login: Login, site: str) -> None:
    viewer = login("view_dashboard")
    assert "ping/" not in viewer.get() and "hi/" in viewer.get()
    assert "auth.view_user" in viewer.text("ping/", 403)
    assert login("view_user").browser.get(MOUNT + "hi/").status_code == 403
    both = login("view_dashboard", "view_user")
    assert both.browser.get(MOUNT + "ping/").status_code == 200
    assert both.browser.post(MOUNT + "ping/", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1"}):
        assert "Redis does not answer" in viewer.text("hi/", 503)


@pytest.mark.parametrize("slug", ["jobs", "metrics", "", "Big", "a/b", "operations", "-a", "a" * 41])
def test_a_tab_cannot_take_what_is_ours(slug: str) -> None:
    with pytest.raises(ValueError, match="a tab cannot be called"):
        register_tab(slug, "x", ping)


def test_redact_has_the_last_word(root: Pages, site: str) -> None:
    def redact(name: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        if name == "a.Bad":
            raise KeyError(name)
        return [f"{len(args)} args"], kwargs

    root.push(1, klass="a.Good", args=["shown", "too"], kwargs={"x": 1})
    root.push(2, klass="a.Bad", args=["hidden"])
    with override_settings(COGWORKER={"REDIS": site, "PREFIX": "t:", "WEB": {"REDACT": redact}}):
        text = root.text("jobs/")
    assert '"2 args", x=1' in text and "shown" not in text.partition("Enqueued default")[2]
    assert "hidden: WEB" in text and '"hidden"' not in text
