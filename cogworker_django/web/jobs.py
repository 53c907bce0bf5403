"""The jobs: where each of them is, in pages, with a search that has its limits (reference, section 30.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cogworker_django.api.browse import Leaf, Place, Record, State, tops, turn
from cogworker_django.api.snapshot import Snapshot, Wanted
from cogworker_django.core.errors import RedisRefused
from cogworker_django.core.names import check_queue
from cogworker_django.web import access
from cogworker_django.web.access import May
from cogworker_django.web.job_actions import act, actions
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page
from cogworker_django.web.paging import Pager, asked, pager
from cogworker_django.web.process_cards import RunningRow, longest_first, running_rows
from cogworker_django.web.rows import JobRow, Rows
from cogworker_django.web.searching import Hits, look_through, matches, needle
from cogworker_django.web.wording import count

PER_PAGE = 50
TOP = 10  # jobs of each state when all are shown
QUEUES_SHOWN = 8  # queues whose first jobs are shown at once
RUNNING_SHOWN = 100
RUNNING = "running"
LABELS: dict[str, str | Promise] = {
    "": gettext_lazy("All"),
    State.ENQUEUED: gettext_lazy("Enqueued"),
    RUNNING: gettext_lazy("Running"),
    State.SCHEDULED: gettext_lazy("Scheduled"),
    State.RETRYING: gettext_lazy("Retrying"),
    State.DEAD: gettext_lazy("Dead"),
}
TONES = {
    State.ENQUEUED: "accent",
    RUNNING: "info",
    State.SCHEDULED: "info",
    State.RETRYING: "warning",
    State.DEAD: "neutral",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A table of jobs in one state."""

    state: str
    label: str | Promise
    rows: list[JobRow] = field(default_factory=list)
    running: list[RunningRow] = field(default_factory=list)
    total: str = ""
    url: str = ""
    """Of the page with all of them; empty there."""
    pager: Pager | None = None
    queue: str = ""
    damaged: bool = False
    """Whether the key holds something else."""

    @property
    def id(self) -> str:
        """Names its heading."""
        return f"section-{self.state}-{self.queue.encode().hex()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What stands below the results of a search."""

    text: str
    further: str
    """Address that searches on; empty at the end."""


class JobsPage(Page):
    """The tab with all jobs."""

    tab = "jobs"
    template = "cogworker/jobs.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show one state or the first jobs of all; what an address says that makes no sense is passed over."""
        state = request.GET.get("state", request.GET.get("status", "")).lower()
        state = state if state in LABELS else ""
        queue, text = _queue(request.GET.get("queue", "")), request.GET.get("q", "").strip()[:200]
        snapshot = self.look(Wanted(work=True))
        found: Found | None = None
        if text or (queue and state not in (State.ENQUEUED, RUNNING)):
            sections, found = self._search(snapshot, state, queue, text)
        elif state == RUNNING:
            sections = [self._running(snapshot, queue)]
        elif state and (state != State.ENQUEUED or queue or len(_filled(snapshot)) == 1):
            sections = [self._whole(State(state), queue or next(iter(_filled(snapshot)), ""))]
        else:
            sections = self._tops(snapshot, state)
        context = {
            "states": self._states(snapshot, state),
            "state": state,
            "queue": queue,
            "q": text,
            "queues": [each.name for each in snapshot.queues],
            "sections": sections,
            "found": found,
            "operations_url": self.links.to("operations"),
            "clear_url": self.links.to("jobs", query={"state": state}),
        }
        return self.show(snapshot, context, title=_("Jobs") if not state else f"{LABELS[state]} · {_('Jobs')}")

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what a button says, with the job of its row or with those that are chosen."""
        self.may(access.JOBS)
        name, _bar, key = request.POST.get("one", "").partition("|")
        keys = [key] if key else request.POST.getlist("key")
        return act_on_jobs(self, name or request.POST.get("do", ""), keys)

    def _states(self, snapshot: Snapshot, chosen: str) -> list[tuple[str | Promise, str, bool, str]]:
        sizes = {
            State.ENQUEUED: sum(queue.size for queue in snapshot.queues),
            RUNNING: len(snapshot.work),
            State.SCHEDULED: snapshot.scheduled_size,
            State.RETRYING: snapshot.retry_size,
            State.DEAD: snapshot.dead_size,
        }
        kept = {name: self.request.GET.get(name, "") for name in ("q", "queue")}
        return [
            (
                label,
                self.links.to("jobs", query={"state": state, **kept}),
                state == chosen,
                count(sizes[state]) if state else "",
            )
            for state, label in LABELS.items()
        ]

    def _rows(self) -> Rows:
        return Rows(self.links, May.of(self.request, read_only=False))

    def _whole(self, state: State, queue: str) -> Section:
        """All jobs of one state, page by page."""
        start = Place(state=state, queue=queue if state is State.ENQUEUED else "")
        if state is State.ENQUEUED and not queue:
            return Section(state=state, label=LABELS[state], total=count(0))
        place, mode = asked(self.request, start)
        damaged = False
        try:
            leaf = turn(place, mode, PER_PAGE)
        except RedisRefused:
            leaf, damaged = Leaf(jobs=[], size=0, more=None, met=False), True
        return Section(
            state=state,
            label=LABELS[state],
            rows=_made(self._rows(), leaf.jobs),
            total=count(leaf.size),
            pager=pager(self.links, leaf, mode),
            queue=start.queue,
            damaged=damaged,
        )

    def _running(self, snapshot: Snapshot, queue: str, text: str = "", number: int = RUNNING_SHOWN) -> Section:
        work = longest_first(snapshot, queue=queue)
        # Rows are made of all that runs only for a search.
        rows = running_rows(self, work if text else work[:number], snapshot.now)
        matching = [row for row in rows if matches(text, row.job)] if text else rows
        return Section(
            state=RUNNING,
            label=LABELS[RUNNING],
            running=matching[:number],
            total=count(len(matching) if text else len(work)),
            url=self.links.to("jobs", query={"state": RUNNING}) if number < len(work) and not text else "",
        )

    def _tops(self, snapshot: Snapshot, state: str) -> list[Section]:
        """The first jobs of each state, or of each queue."""
        filled = _filled(snapshot)
        sizes = {queue.name: queue.size for queue in snapshot.queues}
        totals = {State.SCHEDULED: snapshot.scheduled_size, State.RETRYING: snapshot.retry_size}
        totals[State.DEAD] = snapshot.dead_size
        rows, sections = self._rows(), []
        for where, queue, jobs in tops(TOP, filled[:QUEUES_SHOWN]):
            if state and where != state:
                continue
            size = sizes[queue] if queue else totals[where]
            if not size and state != where:
                continue
            url = self.links.to("jobs", query={"state": where, "queue": queue}) if size > len(jobs) else ""
            sections.append(
                Section(
                    state=where,
                    label=LABELS[where],
                    rows=_made(rows, jobs),
                    total=count(size),
                    url=url,
                    queue=queue,
                )
            )
        if not state and snapshot.work:
            sections.insert(len(filled[:QUEUES_SHOWN]), self._running(snapshot, "", number=TOP))
        return sections or [Section(state="", label=_("All"), total=count(0))]

    def _search(self, snapshot: Snapshot, state: str, queue: str, text: str) -> tuple[list[Section], Found]:
        rows = self._rows()

        def fits(job: Record) -> bool:
            return (not queue or job.queue == queue) and (not text or matches(text, rows.of(job)))

        hits = look_through(
            _places(snapshot, state, queue), _begin(self.request), needle(text) or queue, fits, PER_PAGE
        )
        sections = []
        if state in ("", RUNNING):
            running = self._running(snapshot, queue, text)
            sections += [running] if running.running else []
        for where in State:
            jobs = [(place, job) for place, job in hits.jobs if place.state is where]
            if jobs:
                sections.append(Section(state=where, label=LABELS[where], rows=_made(rows, jobs)))
        return sections, self._found(hits, sum(len(each.rows) + len(each.running) for each in sections))

    def _found(self, hits: Hits, number: int) -> Found:
        facts = {"number": count(number), "looked": count(hits.looked)}
        text = _("%(number)s found; %(looked)s jobs were looked at.") % facts
        if hits.more is None:
            return Found(text=f"{text} {_('That is all.')}", further="")
        return Found(text=text, further=self.links.here(on=str(hits.more)))


def act_on_jobs(page: Page, name: str, keys: Sequence[str], to: str = "") -> HttpResponseBase:
    """Do something with jobs that were seen, and tell what has become of them.

    Args:
        page: whose button it is.
        name: of the action.
        keys: where the jobs were seen.
        to: where to go afterwards, if not back.
    """
    action = actions().get(name)
    if action is None:
        return page.done(Notice("danger", _("There is no such action. Nothing was changed.")))
    if not keys:
        return page.done(Notice("info", _("No job was chosen. Nothing was changed.")))
    if action.question is not None:
        asked_back = page.confirmed(action.question(len(keys)), [], action.label)
        if asked_back is not None:
            return asked_back
    return page.done(*act(keys, action.do).notices(action.sentence), to=to)


def _made(rows: Rows, jobs: Sequence[tuple[Place, Record]]) -> list[JobRow]:
    return [
        rows.of(job, key=str(place), score=None if place.state is State.ENQUEUED else place.spot.score)
        for place, job in jobs
    ]


def _filled(snapshot: Snapshot) -> list[str]:
    return [queue.name for queue in snapshot.queues if queue.size]


def _places(snapshot: Snapshot, state: str, queue: str) -> list[Place]:
    """Where a search looks, in this order."""
    names = [queue] if queue else _filled(snapshot)
    enqueued = [Place(state=State.ENQUEUED, queue=name) for name in names]
    sets = [Place(state=each) for each in (State.SCHEDULED, State.RETRYING, State.DEAD)]
    return [place for place in [*enqueued, *sets] if not state or place.state == state]


def _begin(request: HttpRequest) -> Place | None:
    try:
        return Place.read(request.GET["on"]) if "on" in request.GET else None
    except ValueError:
        return None


def _queue(text: str) -> str:
    try:
        return check_queue(text)
    except ValueError:
        return ""
