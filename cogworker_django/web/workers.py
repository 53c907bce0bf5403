"""The processes that run jobs, what they run, and what the dead ones have left (reference, section 30.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cogworker_django import runtime
from cogworker_django.api.intake import Intake
from cogworker_django.api.processes import Process, ProcessSet
from cogworker_django.api.snapshot import Snapshot, Wanted
from cogworker_django.web import access
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page, missing
from cogworker_django.web.process_cards import (
    Card,
    busy_of,
    by_host,
    card_of,
    longest_first,
    number,
    orphans,
    running_rows,
)
from cogworker_django.web.swarms import swarms
from cogworker_django.web.wording import count

PROCESSES = 24  # cards on a page
RUNNING = 50  # running jobs on a page
MOST_THREADS = 200  # running jobs on the page of one process
NAMED = 10  # running jobs that the question before a stop names


class WorkersPage(Page):
    """All processes."""

    tab = "workers"
    template = "cogworker/workers.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        snapshot = self.look(Wanted(work=True))
        processes, running = by_host(snapshot), longest_first(snapshot)
        first, jobs_first = _page_of(request, "page", PROCESSES), _page_of(request, "jobs", RUNNING)
        busy = busy_of(snapshot)
        shown = processes[first : first + PROCESSES]
        context = {
            "summary": _summary(snapshot),
            "hosts": _by_host([card_of(self, each, snapshot, busy.get(each.identity, 0)) for each in shown]),
            "pages": self._pages("page", len(processes), PROCESSES, first),
            "running": running_rows(self, running[jobs_first : jobs_first + RUNNING], snapshot.now),
            "running_total": len(running),
            "job_pages": self._pages("jobs", len(running), RUNNING, jobs_first),
            "orphans": orphans(snapshot),
            "swarms": swarms(snapshot, self.links),
        }
        return self.show(snapshot, context)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what a button says, with one process or with the intake of all."""
        self.may(access.WORKERS)
        action, _bar, identity = request.POST.get("do", "").partition("|")
        if action in _INTAKE:
            return self.done(_INTAKE[action]())
        return act_on_process(self, action, identity)

    def _pages(self, name: str, total: int, size: int, first: int) -> list[tuple[str, str, bool]]:
        if total <= size:
            return []
        return [
            (count(index + 1), self.links.here(**{name: None if index == 0 else index + 1}), index == first // size)
            for index in range(-(-total // size))
        ]


class WorkerPage(Page):
    """One process."""

    tab = "workers"
    template = "cogworker/worker.html"

    def get(self, request: HttpRequest, identity: str) -> HttpResponse:
        """Show it, and what it runs."""
        snapshot = self.look(Wanted(work=True))
        process = next((each for each in snapshot.processes if each.identity == identity), None)
        if process is None:
            text = _("%(process)s is not there: it has stopped, or was never started.")
            return missing(self, text % {"process": identity}, snapshot)
        running = longest_first(snapshot, identity)
        context = {
            "card": card_of(self, process, snapshot, len(running)),
            "running": running_rows(self, running[:MOST_THREADS], snapshot.now),
        }
        return self.show(snapshot, context, title=identity)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what a button says."""
        self.may(access.WORKERS)
        return act_on_process(self, request.POST.get("do", "").partition("|")[0], kwargs["identity"])


def act_on_process(page: Page, action: str, identity: str) -> HttpResponseBase:
    """Tell a process to be quiet, to go on or to stop; it reads that within moments.

    Args:
        page: whose button it is.
        action: `quiet`, `resume` or `stop`.
        identity: of the process.
    """
    process = ProcessSet().find(identity)
    if process is None:
        return page.done(Notice("warning", _("This process is no longer there. Nothing was changed.")))
    told = _COMMANDS.get(action)
    if told is None:
        return page.done(Notice("danger", _("There is no such action. Nothing was changed.")))
    if action == "stop":
        asked_back = _ask_to_stop(page, identity)
        if asked_back is not None:
            return asked_back
    return page.done(Notice("success", told(process) % {"process": identity}))


def _quiet(process: Process) -> str:
    process.quiet()
    return _("%(process)s was told to take no further job; it shows as quiet when it has read that.")


def _resume(process: Process) -> str:
    process.resume()
    return _("%(process)s was told to take jobs again.")


def _stop(process: Process) -> str:
    process.stop()
    return _("%(process)s was told to finish what runs and to leave; it goes from this page when it has.")


def _ask_to_stop(page: Page, identity: str) -> HttpResponse | None:
    snapshot = page.look(Wanted(work=True))
    running = longest_first(snapshot, identity)
    lines = [
        _("It finishes what runs, gives back to its queues what does not finish in time, and ends."),
        ngettext("%(number)s job runs there now.", "%(number)s jobs run there now.", len(running))
        % {"number": count(len(running))},
        *(
            f"{row.job.klass} {row.job.jid} · {row.elapsed}"
            for row in running_rows(page, running[:NAMED], snapshot.now)
        ),
    ]
    return page.confirmed(_("Stop %(process)s?") % {"process": identity}, lines, _("Stop"))


def _pause_intake() -> Notice:
    if Intake().pause():
        return Notice("success", _("The intake is paused: no worker takes a further job; what runs goes on."))
    return Notice("info", _("The intake was paused already."))


def _resume_intake() -> Notice:
    if Intake().resume():
        return Notice("success", _("Workers take jobs again."))
    return Notice("info", _("The intake was not paused."))


_COMMANDS: Mapping[str, Callable[[Process], str]] = {"quiet": _quiet, "resume": _resume, "stop": _stop}
_INTAKE: Mapping[str, Callable[[], Notice]] = {"pause_intake": _pause_intake, "resume_intake": _resume_intake}


def _by_host(found: list[Card]) -> list[tuple[str, list[Card]]]:
    hosts: dict[str, list[Card]] = {}
    for card in found:
        hosts.setdefault(card.host, []).append(card)
    return list(hosts.items())


def _summary(snapshot: Snapshot) -> str:
    threads = sum(number(process.info.get("concurrency")) for process in snapshot.processes)
    processes = len(snapshot.processes)
    words = [
        ngettext("%(number)s process", "%(number)s processes", processes) % {"number": count(processes)},
        ngettext("%(number)s thread", "%(number)s threads", threads) % {"number": count(threads)},
        _("heartbeat every %(time)s") % {"time": f"{runtime.current().config.beat_interval:g} s"},
    ]
    return " · ".join(words)


def _page_of(request: HttpRequest, name: str, size: int) -> int:
    text = request.GET.get(name, "1")
    return (max(1, int(text)) - 1) * size if text.isdecimal() and len(text) < 7 else 0
