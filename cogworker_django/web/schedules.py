"""The periodic entries: when they run, how they ran, and their switches (reference, section 30.3)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _

from cogworker_django.api.once import once
from cogworker_django.api.periodic_set import PeriodicEntry, PeriodicSet
from cogworker_django.api.snapshot import Wanted
from cogworker_django.core import times
from cogworker_django.core.cron_fields import read_fields
from cogworker_django.core.errors import LockHeld
from cogworker_django.web import access
from cogworker_django.web.access import May
from cogworker_django.web.cron_words import in_words
from cogworker_django.web.frame import user_name
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page, missing
from cogworker_django.web.rows import Rows
from cogworker_django.web.wording import count

PER_PAGE = 100
UPCOMING = 10
REASON = 300  # characters
OUTCOMES = {"complete": "success", "failed": "danger", "retrying": "warning", "queued": "info"}


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryRow:
    """One entry."""

    name: str
    url: str
    job: str
    cron: str
    words: str
    timezone: str
    args: str
    unique: str
    enabled: bool
    next_at: float | None
    invalid: bool
    """Whether its expression cannot be read here."""
    last_at: float | None
    outcome: str
    tone: str
    run_url: str
    """Of the job of its last run."""
    reason: str
    by: str
    disabled_at: float | None
    options: str


@dataclass(frozen=True, slots=True)
class Coming:
    """One of the next runs."""

    at: float
    local: str
    """In the entry's zone."""
    note: str
    """What the clocks do to it."""


class SchedulesPage(Page):
    """All entries."""

    tab = "schedules"
    template = "cogworker/schedules.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show those that match, by name."""
        snapshot, text = self.look(), request.GET.get("q", "").strip()[:200]
        rows, every = Rows(self.links, May.of(request, read_only=False)), list(PeriodicSet())
        matching = [entry for entry in every if text.casefold() in _searched(entry, rows)]
        asked = request.GET.get("page", "1")
        pages = max(1, -(-len(matching) // PER_PAGE))
        number = min(max(1, int(asked)), pages) if asked.isdecimal() and len(asked) < 7 else 1
        context = {
            "rows": [row_of(entry, rows, self) for entry in matching[(number - 1) * PER_PAGE : number * PER_PAGE]],
            "shown": len(matching),
            "total": len(every),
            "q": text,
            "op": secrets.token_hex(8),
            "pages": [
                (count(index), self.links.here(page=None if index == 1 else index), index == number)
                for index in range(1, pages + 1)
            ]
            if pages > 1
            else [],
            "clear_url": self.links.to("schedules"),
        }
        return self.show(snapshot, context)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what the button of a row says."""
        action, _bar, name = request.POST.get("do", "").partition("|")
        return act_on_entry(self, action, name)


class SchedulePage(Page):
    """One entry."""

    tab = "schedules"
    template = "cogworker/schedule.html"

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """Show it, with its next times."""
        snapshot, entry = self.look(Wanted()), PeriodicSet().find(name)
        if entry is None:
            return missing(self, _("No living worker knows a schedule of this name."), snapshot)
        rows = Rows(self.links, May.of(request, read_only=False))
        context = {
            "row": row_of(entry, rows, self),
            "coming": coming(entry),
            "op": secrets.token_hex(8),
            "history_url": self.links.to("history", query={"class": entry.job}),
        }
        return self.show(snapshot, context, title=name)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what a button says."""
        return act_on_entry(self, request.POST.get("do", "").partition("|")[0], kwargs["name"])


def act_on_entry(page: Page, action: str, name: str) -> HttpResponseBase:
    """Run an entry now, or switch it off or on.

    Args:
        page: whose button it is.
        action: `run`, `disable` or `enable`.
        name: of the entry.
    """
    page.may(access.SCHEDULES)
    entry = PeriodicSet().find(name)
    if entry is None:
        return page.done(Notice("warning", _("No living worker knows this schedule any more. Nothing was changed.")))
    act = _ACTIONS.get(action)
    if act is None:
        return page.done(Notice("danger", _("There is no such action. Nothing was changed.")))
    return page.done(act(page, entry))


def _run(page: Page, entry: PeriodicEntry) -> Notice:
    try:
        with once(page.request.POST.get("op", "")[:64] and f"{page.request.POST['op'][:64]}:{entry.name}") as first:
            if not first:
                return Notice("info", _("%(name)s was pushed already by this button.") % {"name": entry.name})
            jid = entry.run_now()
    except LockHeld as error:
        return Notice("warning", f"{error} {_('Nothing was pushed.')}")
    except (RuntimeError, TypeError, ValueError) as error:
        return Notice("danger", f"{_('It could not be pushed:')} {error}")
    return Notice("success", _("%(name)s was pushed as job %(jid)s.") % {"name": entry.name, "jid": jid})


def _disable(page: Page, entry: PeriodicEntry) -> Notice:
    reason = page.request.POST.get("reason", "").strip()[:REASON]
    if entry.disable(reason, user_name(page.request)):
        text = _("%(name)s is disabled: its times pass without a run, also after a deploy.")
    else:
        text = _("%(name)s was disabled already.")
    return Notice("success", text % {"name": entry.name})


def _enable(page: Page, entry: PeriodicEntry) -> Notice:
    text = _("%(name)s runs again from its next time on.") if entry.enable() else _("%(name)s was not disabled.")
    return Notice("success", text % {"name": entry.name})


_ACTIONS: Mapping[str, Callable[[Page, PeriodicEntry], Notice]] = {
    "run": _run,
    "disable": _disable,
    "enable": _enable,
}


def row_of(entry: PeriodicEntry, rows: Rows, page: Page) -> EntryRow:
    """Make the row of an entry."""
    following, outcome = entry.upcoming(1), str(entry.last_run.get("outcome", ""))
    jid = entry.last_run.get("jid")
    args, _secrets = rows.arguments({"class": entry.job, "args": entry.args, "kwargs": entry.kwargs})
    return EntryRow(
        name=entry.name,
        url=page.links.to("schedule", entry.name),
        job=entry.job,
        cron=entry.cron,
        words=in_words(entry.cron),
        timezone=entry.timezone,
        args=args,
        unique=str(entry.options.get("unique") or ""),
        enabled=entry.enabled,
        next_at=following[0].timestamp() if following else None,
        invalid=not following,
        last_at=entry.last_slot.timestamp() if entry.last_slot else None,
        outcome=outcome[:100],
        tone=OUTCOMES.get(outcome, "neutral"),
        run_url=page.links.to("job", jid) if isinstance(jid, str) and jid else "",
        reason=str(entry.reason.get("reason", ""))[:REASON],
        by=str(entry.reason.get("by", ""))[:150],
        disabled_at=times.told(entry.reason.get("at")),
        options=", ".join(f"{name}: {value}" for name, value in entry.options.items())[:500],
    )


def coming(entry: PeriodicEntry) -> list[Coming]:
    """List the next times, with what changes of clocks do to them."""
    found, offset = [], None
    hours, minutes = _fields(entry.cron)
    for at in entry.upcoming(UPCOMING):
        note = ""
        if (hours is not None and at.hour not in hours) or (minutes is not None and at.minute not in minutes):
            note = _("its usual time does not exist on this day: the clocks go forward")
        elif offset is not None and at.utcoffset() != offset:
            note = _("the clocks have changed since the run before")
        offset = at.utcoffset()
        found.append(Coming(at.timestamp(), _local(at), note))
    return found


def _fields(expression: str) -> tuple[set[int] | None, set[int] | None]:
    """The hours and the minutes of an expression; None for all of them."""
    try:
        minute, hour, *_days = read_fields(expression).plain.split()
    except (TypeError, ValueError):
        return None, None
    every = [None if field == "*" else {int(part) for part in field.split(",")} for field in (hour, minute)]
    return every[0], every[1]


def _local(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} {at.tzname()}"


def _searched(entry: PeriodicEntry, rows: Rows) -> str:
    args, _secrets = rows.arguments({"class": entry.job, "args": entry.args, "kwargs": entry.kwargs}, 10_000)
    return f"{entry.name} {entry.job} {entry.cron} {args}".casefold()
