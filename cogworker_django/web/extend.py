"""What a tab of a project is made with (Contract 6): `register_tab`, and `render_tab` for its view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from cogworker_django.api.snapshot import look
from cogworker_django.web import tabs
from cogworker_django.web.frame import frame
from cogworker_django.web.page import LIVE, Page, forbidden, refreshed
from cogworker_django.web.tabs import Tab, register_tab

__all__ = ["register_tab", "render_tab", "tab_patterns"]


class TabPage(Page):
    """Puts the checks of our own pages around a view of the project."""

    shown: ClassVar[Tab]
    view: ClassVar[Callable[..., HttpResponseBase]]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let the view answer."""
        return type(self).view(request, *args, **kwargs)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let the view answer a POST too."""
        return type(self).view(request, *args, **kwargs)

    def _refusal(self, request: HttpRequest) -> HttpResponseBase | None:
        refusal = super()._refusal(request)
        needed = self.shown.permission
        if refusal is None and needed is not None and not request.user.has_perm(needed):
            return forbidden(request, _("You need the permission %(right)s to see this page.") % {"right": needed})
        return refusal


def render_tab(
    request: HttpRequest, template: str, context: Mapping[str, Any] | None = None, *, tab: str, title: str = ""
) -> HttpResponse:
    """Render the page of a tab; its template extends ``cogworker/base.html`` and fills the block ``content``.

    Args:
        request: of the reader.
        template: its name.
        context: what it shows; ``cw`` is the frame's.
        tab: the slug that was registered.
        title: of the page; by default the tab's label.

    Raises:
        RedisUnavailable: Redis is away; the page then says so.
    """
    around = frame(request, tab=tab, title=title, snapshot=look())
    response = render(request, template, {**(context or {}), **around})
    known = request.headers.get(LIVE)
    return response if known is None else refreshed(response, known)


def tab_patterns() -> list[URLPattern]:
    """Return the routes of the tabs that were added; the first of a tab is the one that the navigation leads to."""
    found: list[URLPattern] = []
    for tab in tabs.added_tabs():
        if callable(tab.target):
            found.append(path(f"{tab.slug}/", _guarded(tab, tab.target), name=tab.route))
            continue
        for number, pattern in enumerate(import_module(tab.target).urlpatterns):
            route = f"{tab.slug}/{pattern.pattern}"
            name = tab.route if number == 0 else f"{tab.route}-{pattern.name or number}"
            found.append(path(route, _guarded(tab, pattern.callback), pattern.default_args, name=name))
    return found


def _guarded(tab: Tab, view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    page: type[TabPage] = type("TabPage", (TabPage,), {"shown": tab, "view": staticmethod(view), "tab": tab.slug})
    shown: Callable[..., HttpResponseBase] = page.as_view()
    return shown
