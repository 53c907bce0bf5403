"""The first page: how the installation is, in two layouts (reference, section 30.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cogworker_django.api.snapshot import QueueState, Snapshot, Wanted
from cogworker_django.web.attention import alerts
from cogworker_django.web.charts import Chart, Point, bars
from cogworker_django.web.notices import Notice
from cogworker_django.web.page import Page
from cogworker_django.web.process_cards import number
from cogworker_django.web.queue import act_on_queue, panel
from cogworker_django.web.wording import count

HOURS = 24
PERIODS = {
    "week": (7, gettext_lazy("Week")),
    "month": (30, gettext_lazy("Month")),
    "3months": (90, gettext_lazy("3 months")),
    "6months": (182, gettext_lazy("6 months")),
}
"""Days of each, and what it is called."""
DEFAULT_PERIOD = "month"
QUEUES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Counter:
    """One large number."""

    label: str
    value: str
    tone: str
    url: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue in the table."""

    state: QueueState
    paused: bool
    """Whether it is paused by itself."""
    url: str
    share: str
    """Of its latency in the highest one, for the bar."""
    workers: int


class OverviewPage(Page):
    """The Overview."""

    tab = "overview"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show layout A, metrics first, or B, queue first."""
        if request.GET.get("layout") == "b":
            return self._queues_first(request.GET.get("queue", ""))
        period = request.GET.get("period", DEFAULT_PERIOD)
        period = period if period in PERIODS else DEFAULT_PERIOD
        snapshot = self.look(Wanted(work=True, server=True, hours=HOURS, days=PERIODS[period][0]))
        context = {
            "layouts": self._layouts("a"),
            "alerts": alerts(snapshot, self.links),
            "counters": self._counters(snapshot),
            "queues": self._queues(snapshot)[:QUEUES_SHOWN],
            "queues_total": len(snapshot.queues),
            "queues_more": max(0, len(snapshot.queues) - QUEUES_SHOWN),
            "queue_first": self.links.to("overview", query={"layout": "b"}),
            "throughput": throughput(snapshot),
            "days": runs_per_day(snapshot),
            "periods": [
                (label, self.links.here(period=None if name == DEFAULT_PERIOD else name), name == period)
                for name, (_days, label) in PERIODS.items()
            ],
            "server": server_facts(snapshot.server),
        }
        return self.show(snapshot, context, template="cogworker/overview.html")

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what the button of a queue says; its value is the action and the queue."""
        name = request.POST.get("do", "").partition("|")[2] or request.POST.get("queue", "")
        try:
            return act_on_queue(self, name)
        except ValueError:
            return self.done(Notice("danger", _("No queue can have this name. Nothing was changed.")))

    def _queues_first(self, wanted: str) -> HttpResponse:
        snapshot = self.look(Wanted(work=True))
        rows = self._queues(snapshot)
        name = wanted or (rows[0].state.name if rows else "")
        try:
            shown = panel(self, name, snapshot) if name else None
        except ValueError:
            shown = None
        context = {"layouts": self._layouts("b"), "queues": rows, "panel": shown, "chosen": name}
        return self.show(snapshot, context, template="cogworker/overview_queues.html")

    def _layouts(self, chosen: str) -> list[tuple[str, str, bool]]:
        return [
            (_("Metrics first"), self.links.to("overview"), chosen == "a"),
            (_("Queue first"), self.links.to("overview", query={"layout": "b"}), chosen == "b"),
        ]

    def _counters(self, snapshot: Snapshot) -> list[Counter]:
        links = self.links

        def jobs(state: str) -> str:
            return links.to("jobs", query={"state": state})

        def runs(status: str) -> str:
            return links.to("history", query={"status": status})

        enqueued = sum(queue.size for queue in snapshot.queues)
        threads = sum(number(process.info.get("concurrency")) for process in snapshot.processes)
        running, ever = len(snapshot.work), _("since the beginning")
        of_threads = _("of %(threads)s threads") % {"threads": count(threads)}
        return [
            Counter(_("Processed"), count(snapshot.processed), "success", runs("success"), ever),
            Counter(_("Failed"), count(snapshot.failed), "danger", runs("failed"), ever),
            Counter(_("Enqueued"), count(enqueued), "accent", jobs("enqueued")),
            Counter(_("Running"), count(running), "info", jobs("running"), of_threads),
            Counter(_("Scheduled"), count(snapshot.scheduled_size), "info", jobs("scheduled")),
            Counter(_("Retrying"), count(snapshot.retry_size), "warning", jobs("retrying")),
            Counter(_("Dead"), count(snapshot.dead_size), "neutral", jobs("dead")),
        ]

    def _queues(self, snapshot: Snapshot) -> list[QueueRow]:
        highest = max((queue.latency for queue in snapshot.queues), default=0.0) or 1.0
        first = self.request.GET.get("layout") == "b"
        return [
            QueueRow(
                state=queue,
                paused=queue.name in snapshot.paused,
                url=self.links.to("overview", query={"layout": "b", "queue": queue.name})
                if first
                else self.links.to("queue", queue.name),
                share=f"{queue.latency / highest:.2f}",
                workers=sum(queue.name in process.queues for process in snapshot.processes),
            )
            for queue in snapshot.queues
        ]


def throughput(snapshot: Snapshot) -> Chart:
    """Draw what was done in each of the latest hours."""
    points = [
        Point(f"{hour:%H:%M}", f"{hour:%Y-%m-%d %H:%M} UTC", each.processed, each.failed)
        for each in snapshot.hours
        for hour in (datetime.fromtimestamp(each.start, UTC),)
    ]
    return bars(
        "throughput",
        points,
        title=_("Throughput"),
        note=_("runs an hour, 24 hours, UTC"),
        good=_("processed"),
        bad=_("failed"),
        column=_("Hour"),
    )


def runs_per_day(snapshot: Snapshot) -> Chart:
    """Draw what has run on each of the latest days."""
    points = [Point(each.day[5:], each.day, each.success, each.failed) for each in snapshot.days]
    return bars(
        "runs",
        points,
        title=_("Runs per day"),
        note=_("UTC, from the history's counters"),
        good=_("succeeded"),
        bad=_("failed"),
        column=_("Day"),
    )


def server_facts(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the server tells about itself; "n/a" for what it does not (Z13)."""
    name = "Valkey" if info.get("server_name") == "valkey" else "Redis"
    version = info.get("valkey_version") if name == "Valkey" else info.get("redis_version")
    policy, missing = info.get("maxmemory_policy"), _("n/a")
    uptime = info.get("uptime_in_days")
    return [
        (_("Version"), f"{name} {version}" if version else missing),
        (_("Uptime (days)"), count(uptime) if isinstance(uptime, int) else missing),
        (_("Connections"), _known(info, "connected_clients")),
        (_("Memory used"), _known(info, "used_memory_human")),
        (_("Highest memory use"), _known(info, "used_memory_peak_human")),
        (_("Memory limit"), _("none") if info.get("maxmemory") == 0 else _known(info, "maxmemory_human")),
        (_("When full"), str(policy) if policy else missing),
        (_("Role"), _known(info, "role")),
    ]


def _known(info: Mapping[str, Any], field: str) -> str:
    value = info.get(field)
    return _("n/a") if value is None else str(value)
