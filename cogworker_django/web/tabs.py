"""The navigation: the five tabs, and those that a project adds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

SLUG = re.compile(r"[a-z][a-z0-9-]{0,39}")
RESERVED = frozenset(
    ("overview", "jobs", "queues", "schedules", "workers", "history", "metrics", "health", "preferences", "operations")
)


@dataclass(frozen=True, slots=True)
class Tab:
    """One entry of the navigation."""

    slug: str
    """Names it, and is the name of its route."""
    label: str | Promise
    permission: str | None = None
    """What its view needs beyond `cogworker.view_dashboard`, as in `shop.view_order`."""
    target: Any = None
    """The view or the module of URLs of a tab that a project has added."""

    @property
    def route(self) -> str:
        """The name of the route that it leads to."""
        return f"extension-{self.slug}" if self.target is not None else self.slug


BUILT_IN = (
    Tab("overview", _("Overview")),
    Tab("jobs", _("Jobs")),
    Tab("schedules", _("Schedules")),
    Tab("workers", _("Workers")),
    Tab("history", _("History")),
)
_added: dict[str, Tab] = {}


def register_tab(
    slug: str, label: str | Promise, url_module_or_view: str | Callable[..., Any], permission: str | None = None
) -> None:
    """Add a tab to the pages (Contract 6).

    Call it in the module that `WEB["EXTENSIONS"]` names. The view is guarded as our own pages are: log-in,
    `view_dashboard`, the token and origin of a POST, our headers.

    Args:
        slug: its part of the address, small letters, digits and hyphens.
        label: what the navigation says.
        url_module_or_view: a view, or the dotted path of a module whose `urlpatterns` are plain paths to views.
        permission: of Django, as in ``"shop.view_order"``, which a reader needs besides; None for no further one.

    Raises:
        ValueError: the slug is none, or one of ours.
    """
    if not SLUG.fullmatch(slug) or slug in RESERVED:
        raise ValueError(
            f"a tab cannot be called {slug!r}: take small letters, digits and hyphens, and none of the pages' own names"
        )
    _added[slug] = Tab(slug, label, permission, url_module_or_view)


def unregister_tab(slug: str) -> None:
    """Take a tab away again; nothing happens when there is none."""
    _added.pop(slug, None)


def all_tabs() -> list[Tab]:
    """Return our tabs, then those that were added."""
    return [*BUILT_IN, *_added.values()]


def added_tabs() -> list[Tab]:
    """Return those that were added."""
    return list(_added.values())
