"""One job: where it is, what it was given, what has happened to it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _

from cogworker_django.api.attempts import Attempt
from cogworker_django.api.browse import Place, State
from cogworker_django.api.cancelling import cancel
from cogworker_django.api.jobsets import SetEntry
from cogworker_django.api.snapshot import Snapshot, Wanted
from cogworker_django.core import codec, times
from cogworker_django.web import access
from cogworker_django.web.access import May
from cogworker_django.web.job_actions import act, rescheduled, wanted_time
from cogworker_django.web.jobs import LABELS, RUNNING, TONES, act_on_jobs
from cogworker_django.web.locating import Where, locate
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page
from cogworker_django.web.rows import Rows, attempt_of
from cogworker_django.web.wording import count, duration

PART = 30_000  # characters of arguments shown at once
LINES = 200
PLAIN = ("class", "args", "kwargs", "jid", "queue", "error_class", "error_message", "backtrace", "raw_payload")
"""Fields of a payload that have a place of their own on the page."""
TIMES = ("at", "created_at", "enqueued_at", "failed_at", "first_failed_at", "update_time")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One line of the timeline."""

    at: float | None
    text: str
    tone: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRow:
    """A failed attempt."""

    number: int
    at: float
    outcome: str
    error_class: str
    error_message: str
    backtrace: str
    host: str
    took: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A piece of long text."""

    text: str
    note: str = ""
    """Which piece it is; empty when it is all."""
    following: str = ""
    previous: str = ""


class JobPage(Page):
    """The page of one job."""

    tab = "jobs"
    template = "cogworker/job.html"

    def get(self, request: HttpRequest, jid: str) -> HttpResponse:
        """Show it; also one that is gone, as long as something is known of it."""
        snapshot = self.look(Wanted(work=True, jid=jid))
        where = locate(snapshot, jid, request.GET.get("at", ""))
        if not where.state and not snapshot.status and not snapshot.attempts:
            return self._unknown(snapshot, jid, where)
        item = where.item or snapshot.status
        may = May.of(request, read_only=False)
        rows = Rows(self.links, may)
        _line, secrets = rows.arguments(item)
        context = {
            "jid": jid,
            "klass": str(item.get("class", "")) or _("Job"),
            "where": where,
            "key": str(where.place) if where.place else "",
            "state": LABELS.get(where.state, "") if where.state else told_state(snapshot.status),
            "tone": TONES.get(where.state, "success" if snapshot.status.get("status") == "complete" else "neutral"),
            "queue": _text(item.get("queue")),
            "queue_url": self.links.to("queue", _text(item.get("queue"))) if item.get("queue") else "",
            "attempt": attempt_of(where.item),
            "worker_url": self.links.to("worker", where.identity) if where.identity else "",
            "timeline": timeline(where, snapshot),
            "attempts": [attempt_row(each, rows, may, secrets) for each in reversed(snapshot.attempts)],
            "error_class": _text(item.get("error_class")),
            "error_message": rows.mask.text(_text(item.get("error_message")), secrets) if may.view_arguments else "",
            "arguments": self._arguments(rows, where.item, may) if where.item else None,
            "omitted": bool(where.item.get("args_omitted")),
            "fields": fields_of(where.item, rows, may, secrets),
            "status": status_facts(snapshot.status, rows, may, secrets),
            "percent": _percent(snapshot.status),
            "message": rows.mask.text(_text(snapshot.status.get("message")), secrets) if may.view_arguments else "",
            "can_cancel": where.state == RUNNING,
            "can_retry": isinstance(where.place, Place) and where.state != State.ENQUEUED and bool(item.get("queue")),
            "can_kill": where.state in (State.SCHEDULED, State.RETRYING),
            "can_reschedule": where.state in (State.SCHEDULED, State.RETRYING, State.DEAD),
            "history_url": self.links.to("history", query={"jid": jid}),
        }
        return self.show(snapshot, context, title=f"{context['klass']} {jid[:8]}")

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what a button says with this job."""
        self.may(access.JOBS)
        key, name = request.POST.get("key", ""), request.POST.get("do", "")
        if name == "cancel":
            return self._cancel(kwargs["jid"])
        if name != "reschedule":
            return act_on_jobs(self, name, [key] if key else [], self.links.to("job", kwargs["jid"]))
        try:
            when = wanted_time(request.POST.get("minutes", ""), request.POST.get("when", ""))
        except ValueError as error:
            return self.done(Notice("danger", str(error)))
        outcome = act([key], lambda job: isinstance(job, SetEntry) and job.reschedule(when))
        return self.done(*outcome.notices(rescheduled), to=self.links.to("job", kwargs["jid"]))

    def _cancel(self, jid: str) -> HttpResponseBase:
        """Cancel a job that runs; one that is over by now is left alone."""
        lines = [_("A coroutine is cancelled. Any other job ends only when it asks whether it was cancelled.")]
        asked_back = self.confirmed(_("Cancel the job?"), lines, _("Cancel the job"))
        if asked_back is not None:
            return asked_back
        if not cancel(jid):
            return self.done(Notice("warning", _("The job is over by now. Nothing was changed.")))
        return self.done(Notice("success", _("The job was cancelled, or its worker was told to.")))

    def _unknown(self, snapshot: Snapshot, jid: str, where: Where) -> HttpResponse:
        context = {
            "jid": jid,
            "complete": where.complete,
            "search_url": self.links.to("jobs", query={"q": jid}),
            "history_url": self.links.to("history", query={"jid": jid}),
        }
        return self.show(snapshot, context, title=_("Job"), template="cogworker/job_unknown.html", status=404)

    def _arguments(self, rows: Rows, item: Mapping[str, Any], may: May) -> Part | None:
        if not may.view_arguments:
            return None
        args, kwargs = item.get("args"), item.get("kwargs")
        shown = rows.mask.arguments(
            _text(item.get("class")), args if isinstance(args, list) else [], kwargs if isinstance(kwargs, dict) else {}
        )
        text = codec.pretty(shown.args)
        if shown.kwargs:
            text += "\n" + codec.pretty(shown.kwargs)
        return part_of(self, text)


def timeline(where: Where, snapshot: Snapshot) -> list[Step]:
    """Tell what has happened to a job, as far as it is known, in its order."""
    item = where.item
    steps = [
        Step(at=times.told(item.get("created_at")), text=_("Created")),
        Step(at=times.told(item.get("enqueued_at")), text=_("Put on its queue")),
    ]
    for attempt in snapshot.attempts:
        text = _("Attempt %(number)s failed: %(error)s") % {"number": attempt.attempt, "error": attempt.error_class}
        steps.append(Step(at=attempt.failed_at, text=text, tone="warning"))
    if where.run_at is not None:
        steps.append(Step(at=where.run_at, text=_("Started by %(worker)s") % {"worker": where.identity}, tone="info"))
    if where.state in (State.SCHEDULED, State.RETRYING):
        steps.append(Step(at=where.score, text=_("Due"), tone="info"))
    if where.state == State.DEAD:
        steps.append(Step(at=where.score, text=_("Died"), tone="danger"))
    if snapshot.status.get("status") == "complete":
        steps.append(Step(at=times.told(snapshot.status.get("update_time")), text=_("Succeeded"), tone="success"))
    return sorted((step for step in steps if step.at is not None), key=lambda step: step.at or 0.0)


def attempt_row(attempt: Attempt, rows: Rows, may: May, secrets: tuple[str, ...]) -> AttemptRow:
    """Make the row of a failed attempt; message and backtrace only for whoever may see arguments."""
    mask, shown = rows.mask, may.view_arguments
    return AttemptRow(
        number=attempt.attempt,
        at=attempt.failed_at,
        outcome=attempt.outcome,
        error_class=attempt.error_class,
        error_message=mask.text(attempt.error_message, secrets) if shown else "",
        backtrace="\n".join(mask.text(line, secrets) for line in attempt.backtrace[-LINES:]) if shown else "",
        host=attempt.host,
        took="" if attempt.duration is None else duration(attempt.duration),
    )


def fields_of(item: Mapping[str, Any], rows: Rows, may: May, secrets: tuple[str, ...]) -> list[tuple[str, Any, bool]]:
    """Return what else a payload says: name, value, and whether the value is a time."""
    found: list[tuple[str, Any, bool]] = []
    for name, value in item.items():
        if name in PLAIN:
            continue
        told = times.told(value) if name in TIMES else None
        if told is not None:
            found.append((name, told, True))
        elif may.view_arguments or name in ("retry", "retry_count", "unique_digest", "periodic_name"):
            shown = codec.encode(rows.mask.value({name: value})[name]).decode()
            found.append((name, rows.mask.text(shown, secrets)[:1_000], False))
    return found


def status_facts(
    status: Mapping[str, Any], rows: Rows, may: May, secrets: tuple[str, ...]
) -> list[tuple[str, Any, bool]]:
    """Return what a job has told about itself, as `fields_of`."""
    hidden = ("class", "queue", "status", "error_class", "error_message", "pct", "message")
    return fields_of({name: value for name, value in status.items() if name not in hidden}, rows, may, secrets)


def told_state(status: Mapping[str, Any]) -> str:
    """Say where a job stands by its status alone."""
    words = {"queued": _("Queued"), "working": _("Working"), "retrying": _("Retrying"), "complete": _("Complete")}
    return {**words, "failed": _("Failed"), "cancelled": _("Cancelled")}.get(str(status.get("status")), _("Gone"))


def part_of(page: Page, text: str) -> Part:
    """Cut a piece out of a long text, with the addresses of the others."""
    pieces = max(1, -(-len(text) // PART))
    asked = page.request.GET.get("part", "1")
    number = min(max(1, int(asked)), pieces) if asked.isdecimal() and len(asked) < 7 else 1
    if pieces == 1:
        return Part(text=text)
    return Part(
        text=text[(number - 1) * PART : number * PART],
        note=_("part %(number)s of %(all)s") % {"number": count(number), "all": count(pieces)},
        previous=page.links.here(part=number - 1) if number > 1 else "",
        following=page.links.here(part=number + 1) if number < pieces else "",
    )


def _percent(status: Mapping[str, Any]) -> str:
    percent = times.told(status.get("pct"))
    return "" if percent is None else f"{min(max(percent, 0.0), 100.0):.0f}"


def _text(value: object) -> str:
    return value[:10_000] if isinstance(value, str) else ""
