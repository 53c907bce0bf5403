"""One queue: its state, its jobs, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cogworker_django.api.browse import Leaf, Place, State, find, turn
from cogworker_django.api.jobsets import RetrySet
from cogworker_django.api.queue import Queue
from cogworker_django.api.snapshot import QueueState, Snapshot, Wanted
from cogworker_django.core.errors import LockHeld, RedisRefused, UnreadablePayload
from cogworker_django.core.names import check_queue
from cogworker_django.web import access
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page, missing
from cogworker_django.web.paging import Pager, asked, pager
from cogworker_django.web.rows import JobRow, Rows
from cogworker_django.web.wording import count

JOBS = 50  # on a page
RETRIES_LOOKED_AT = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuePanel:
    """What is shown of one queue."""

    name: str
    state: QueueState
    paused: bool
    """Whether it is paused by itself."""
    running: int
    serving: list[str]
    """Identities of the processes that read it."""
    rows: list[JobRow]
    pager: Pager
    url: str
    retrying_url: str
    dead_url: str


def panel(page: Page, name: str, snapshot: Snapshot) -> QueuePanel:
    """Read the jobs of a queue and build its panel: one round trip.

    Args:
        page: that shows it.
        name: of the queue.
        snapshot: with what runs.
    """
    place, mode = asked(page.request, Place(state=State.ENQUEUED, queue=name))
    try:
        leaf = turn(place, mode, JOBS)
    except RedisRefused:
        # The key holds something else: the guard moves it away, until then the rest of the page is shown.
        leaf = Leaf(jobs=[], size=0, more=None, met=False)
    rows = Rows(page.links, access.May.of(page.request, read_only=False))
    url = page.links.to("queue", name)
    known = {state.name: state for state in snapshot.queues}
    return QueuePanel(
        name=name,
        state=known.get(name) or QueueState(name=name, size=leaf.size, latency=0.0, paused=snapshot.intake_paused),
        paused=name in snapshot.paused,
        running=sum(1 for _identity, job in snapshot.work if job.get("queue") == name),
        serving=[process.identity for process in snapshot.processes if name in process.queues],
        rows=[rows.of(job, key=str(where)) for where, job in leaf.jobs],
        pager=pager(page.links, leaf, mode),
        url=url,
        retrying_url=page.links.to("jobs", query={"state": State.RETRYING, "queue": name}),
        dead_url=page.links.to("jobs", query={"state": State.DEAD, "queue": name}),
    )


class QueuePage(Page):
    """The page of one queue."""

    tab = "overview"
    template = "cogworker/queue.html"

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """Show it; also one that has no job, for a pause must be taken back there."""
        try:
            check_queue(name)
        except ValueError:
            return missing(self, _("No queue can have this name."), self.look())
        snapshot = self.look(Wanted(work=True))
        return self.show(snapshot, {"panel": panel(self, name, snapshot)}, title=name)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what a button of the queue says."""
        return act_on_queue(self, kwargs["name"])


def act_on_queue(page: Page, name: str) -> HttpResponseBase:
    """Do what a button says with one queue; the buttons of the Overview too.

    Args:
        page: whose button it is.
        name: of the queue.
    """
    post = page.request.POST
    single = post.get("one")
    if single:
        return _delete_job(page, single)
    action = _ACTIONS.get(post.get("do", "").partition("|")[0])
    if action is None:
        return page.done(Notice("danger", _("There is no such action. Nothing was changed.")))
    return action(page, check_queue(name))


def _pause(page: Page, name: str) -> HttpResponseBase:
    page.may(access.QUEUES)
    changed = Queue(name).pause()
    text = _("%(queue)s is paused: its jobs wait.") if changed else _("%(queue)s was paused already.")
    return page.done(Notice("success", text % {"queue": name}))


def _resume(page: Page, name: str) -> HttpResponseBase:
    page.may(access.QUEUES)
    changed = Queue(name).resume()
    text = _("%(queue)s is served again.") if changed else _("%(queue)s was not paused.")
    return page.done(Notice("success", text % {"queue": name}))


def _clear(page: Page, name: str) -> HttpResponseBase:
    page.may(access.QUEUES)
    size = Queue(name).size
    question = _("Delete all jobs of %(queue)s?") % {"queue": name}
    line = ngettext(
        "%(number)s job waits there now. It will not run, and this cannot be undone.",
        "%(number)s jobs wait there now. They will not run, and this cannot be undone.",
        size,
    )
    asked_back = page.confirmed(question, [line % {"number": count(size)}], _("Delete all jobs"))
    if asked_back is not None:
        return asked_back
    deleted = Queue(name).clear()
    text = ngettext("%(number)s job of %(queue)s was deleted.", "%(number)s jobs of %(queue)s were deleted.", deleted)
    return page.done(Notice("success", text % {"number": count(deleted), "queue": name}))


def _retry_all(page: Page, name: str) -> HttpResponseBase:
    """Put the next retries of a queue on it: of those that come first, so that one answer stays short."""
    page.may(access.JOBS)
    moved, stayed = 0, 0
    entries = RetrySet()
    for entry in entries.page(0, RETRIES_LOOKED_AT - 1):
        if entry.queue != name:
            continue
        try:
            moved += entry.retry()
        except (LockHeld, UnreadablePayload, RedisRefused):
            stayed += 1
    text = ngettext(
        "%(number)s job that waited for a retry is on %(queue)s now.",
        "%(number)s jobs that waited for a retry are on %(queue)s now.",
        moved,
    )
    notices = [Notice("success", text % {"number": count(moved), "queue": name})]
    if stayed:
        text = ngettext("%(number)s could not be moved and stays.", "%(number)s could not be moved and stay.", stayed)
        notices.append(Notice("warning", text % {"number": count(stayed)}))
    if entries.size > RETRIES_LOOKED_AT:
        text = _("The first %(number)s retries were looked at: press again for the others.")
        notices.append(Notice("info", text % {"number": count(RETRIES_LOOKED_AT)}))
    return page.done(*notices)


def _delete_job(page: Page, single: str) -> HttpResponseBase:
    page.may(access.JOBS)
    try:
        job = find(Place.read(single.partition("|")[2]))
    except ValueError:
        job = None
    if job is None:
        return page.done(Notice("warning", _("This job is no longer there: a worker has probably taken it.")))
    question = _("Delete %(job)s?") % {"job": job.klass}
    asked_back = page.confirmed(question, [_("It will not run, and this cannot be undone.")], _("Delete"))
    if asked_back is not None:
        return asked_back
    if not job.delete():
        return page.done(Notice("warning", _("This job is no longer there: a worker has probably taken it.")))
    return page.done(Notice("success", _("%(job)s was deleted.") % {"job": f"{job.klass} {job.jid}"}))


_ACTIONS = {"pause": _pause, "resume": _resume, "clear": _clear, "retry_all": _retry_all}
