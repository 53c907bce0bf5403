"""Doing something with all jobs that match: asked before, done in steps, with its progress (contract, section 6)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _

from cogworker_django.api.browse import Record, State
from cogworker_django.api.operations import ACTIONS, Operation, begin, load, step, stop
from cogworker_django.web import access
from cogworker_django.web.frame import user_name
from cogworker_django.web.jobs import LABELS
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page, missing
from cogworker_django.web.rows import Rows
from cogworker_django.web.searching import matches
from cogworker_django.web.wording import count


class OperationsPage(Page):
    """Begins operations."""

    tab = "jobs"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Nothing is to be seen here: operations begin on the page of jobs."""
        return missing(self, _("An operation begins on the page of jobs, below a set."), self.look())

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Ask, then begin, and lead to its page."""
        self.may(access.JOBS)
        post = request.POST
        action, state = post.get("do", ""), post.get("state", "")
        if action not in ACTIONS or state not in (State.SCHEDULED, State.RETRYING, State.DEAD):
            return self.done(Notice("danger", _("There is no such action. Nothing was changed.")))
        queue, text = post.get("queue", "")[:128], post.get("q", "").strip()[:200]
        asked_back = self.confirmed(_question(action), _lines(state, queue, text), _verb(action))
        if asked_back is not None:
            return asked_back
        try:
            made = begin(action, State(state), queue=queue, text=text, by=user_name(request))
        except ValueError:
            return self.done(Notice("danger", _("There is no such action. Nothing was changed.")))
        return self.done(to=self.links.to("operation", made.id))


class OperationPage(Page):
    """One operation: how far it is, the button for its next step, and the one that stops it."""

    tab = "jobs"
    template = "cogworker/operation.html"

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show how far it is."""
        snapshot, operation = self.look(), load(id)
        if operation is None:
            return missing(self, _("This operation is not remembered any more: it was begun over a day ago."), snapshot)
        looked = min(operation.looked, operation.size)
        context = {
            "operation": operation,
            "question": _question(operation.action),
            "lines": _lines(operation.state, operation.queue, operation.text),
            "percent": "100" if not operation.running else f"{100 * looked / max(operation.size, 1):.0f}",
            "looked": count(operation.looked),
            "back": self.links.to("jobs", query={"state": operation.state, "queue": operation.queue}),
        }
        return self.show(snapshot, context, title=_("Operation"))

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do the next step, or stop."""
        self.may(access.JOBS)
        operation = load(kwargs["id"])
        if operation is None:
            return missing(self, _("This operation is not remembered any more. Nothing was changed."), self.look())
        if request.POST.get("do") == "stop":
            stop(operation)
        else:
            step(operation.id, self._fits(operation))
        return self.done()

    def _fits(self, operation: Operation) -> Any:
        rows = Rows(self.links, access.May.of(self.request, read_only=False))

        def fits(job: Record) -> bool:
            return not operation.text or matches(operation.text, rows.of(job))

        return fits


def _question(action: str) -> str:
    return {
        "retry": _("Retry all jobs that match?"),
        "kill": _("Move all jobs that match to Dead?"),
        "delete": _("Delete all jobs that match?"),
    }[action]


def _verb(action: str) -> str:
    return {"retry": _("Retry all"), "kill": _("Move all to Dead"), "delete": _("Delete all")}[action]


def _lines(state: str, queue: str, text: str) -> list[str]:
    lines = [_("State: %(state)s.") % {"state": LABELS[state]}]
    if queue:
        lines.append(_("Queue: %(queue)s.") % {"queue": queue})
    if text:
        lines.append(_("Class, jid, arguments or error contain: %(text)s.") % {"text": text})
    lines.append(_("Jobs that come there from now on are left alone. It goes on in steps and can be stopped."))
    return lines
