"""What stands around the content of every page: navigation, cluster, choices, notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cogworker_django import runtime
from cogworker_django.api.snapshot import Snapshot
from cogworker_django.core.config import WebConfig
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.web import notices, tabs
from cogworker_django.web.access import May
from cogworker_django.web.links import Links
from cogworker_django.web.preferences import Preferences
from cogworker_django.web.wording import count

TONES = ("danger", "warning", "success", "info", "neutral")


@dataclass(frozen=True, slots=True)
class NavEntry:
    """One tab as the page shows it."""

    label: str | Promise
    url: str
    active: bool
    count: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The state of the installation in a few words."""

    tone: str
    """`success` while a process works, `neutral` when none does, `warning` while the intake is paused."""
    text: str
    paused: bool


@dataclass(frozen=True, slots=True)
class Badge:
    """Which installation this is."""

    label: str
    tone: str


def web_config() -> WebConfig:
    """Return the settings of the pages; the defaults where the settings are at fault, which the page then tells."""
    try:
        return runtime.current().config.web
    except ConfigurationError:
        return WebConfig()


def frame(request: HttpRequest, *, tab: str = "", title: str = "", snapshot: Snapshot | None = None) -> dict[str, Any]:
    """Build what `cogworker/base.html` needs, and every page may use.

    Args:
        request: of the reader.
        tab: the slug of the active tab.
        title: of the page; empty for the tab's label.
        snapshot: for counts and the state of the cluster; None where Redis was not asked.
    """
    config, links = web_config(), Links(request)
    labels = {each.slug: each.label for each in tabs.all_tabs()}
    badge = _badge(config)
    heading = title or str(labels.get(tab, ""))
    return {
        "cw": {
            "title": " · ".join(filter(None, (heading, badge.label if badge else "", "Cogworker"))),
            "heading": heading,
            "nav": _nav(request, links, tab, snapshot),
            "cluster": _cluster(snapshot) if snapshot else None,
            "badge": badge,
            "may": May.of(request, read_only=config.read_only),
            "read_only": config.read_only,
            "links": links,
            "here": request.get_full_path(),
            "prefs": Preferences.of(request),
            "prefs_url": links.to("preferences"),
            "workers_url": links.to("workers"),
            "time_format": config.time_format,
            "interval": f"{config.live_update_interval:g}",
            "notices": notices.pending(request),
            "now": snapshot.now if snapshot else None,
            "user": user_name(request),
        }
    }


def _nav(request: HttpRequest, links: Links, active: str, snapshot: Snapshot | None) -> list[NavEntry]:
    counts = _counts(snapshot) if snapshot else {}
    return [
        NavEntry(tab.label, links.to(tab.route), tab.slug == active, counts.get(tab.slug, ""))
        for tab in tabs.all_tabs()
        if tab.permission is None or request.user.has_perm(tab.permission)
    ]


def _counts(snapshot: Snapshot) -> Mapping[str, str]:
    jobs = sum(queue.size for queue in snapshot.queues)
    jobs += snapshot.scheduled_size + snapshot.retry_size + snapshot.dead_size
    return {"jobs": count(jobs), "workers": count(len(snapshot.processes))}


def _cluster(snapshot: Snapshot) -> Cluster:
    processes = snapshot.processes
    text = ngettext("%(number)s worker", "%(number)s workers", len(processes)) % {"number": count(len(processes))}
    if snapshot.intake_paused:
        return Cluster("warning", f"{text} · {_('intake paused')}", True)
    working = [process for process in processes if process.info.get("quiet") is not True]
    if processes and not working:
        return Cluster("neutral", f"{text} · {_('all quiet')}", False)
    return Cluster("success" if working else "neutral", text, False)


def _badge(config: WebConfig) -> Badge | None:
    if not config.environment:
        return None
    if isinstance(config.environment, str):
        return Badge(config.environment, "info")
    tone = config.environment["tone"]
    return Badge(config.environment["label"], tone if tone in TONES else "info")


def user_name(request: HttpRequest) -> str:
    """Return how whoever asks is called; an empty text for nobody."""
    user = getattr(request, "user", None)
    return str(user.get_username()) if user is not None and user.is_authenticated else ""
