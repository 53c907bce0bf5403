"""What is shown of processes: their cards, what they run, and what dead ones have left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from cogworker_django import runtime
from cogworker_django.api.processes import unsettled_of
from cogworker_django.api.snapshot import Snapshot
from cogworker_django.core import times
from cogworker_django.web import access
from cogworker_django.web.attention import SILENT
from cogworker_django.web.page import Page
from cogworker_django.web.rows import JobRow, Rows
from cogworker_django.web.wording import duration, memory

ORPHANS = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """One process."""

    identity: str
    url: str
    host: str
    pid: str
    tag: str
    state: str
    tone: str
    quiet: bool
    queues: str
    busy: int
    concurrency: int
    share: str
    """Of the threads that are busy, for the bar."""
    memory: str
    beat: str
    version: str
    fetch: str
    started_at: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningRow:
    """One running job."""

    job: JobRow
    identity: str
    url: str
    thread: str
    run_at: float | None
    elapsed: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Orphan:
    """What a process has left that is gone."""

    identity: str
    jobs: int
    beat_at: float | None
    due: str
    """When others take its jobs over."""


def number(value: object) -> int:
    """Read a number that a process has published; 0 for what is none."""
    return value if type(value) is int and value > 0 else 0


def cards(page: Page, snapshot: Snapshot) -> list[Card]:
    """Build the cards of all processes, by host; what runs is counted in the same look (Z48)."""
    busy: dict[str, int] = {}
    for identity, _job in snapshot.work:
        busy[identity] = busy.get(identity, 0) + 1
    found = []
    for process in snapshot.processes:
        info, silent = process.info, snapshot.now - (process.beat_at or 0.0)
        threads, runs = number(info.get("concurrency")), busy.get(process.identity, 0)
        state, tone = _state(info, silent)
        found.append(
            Card(
                identity=process.identity,
                url=page.links.to("worker", process.identity),
                host=str(info.get("hostname", "")) or process.identity.partition(":")[0],
                pid=str(info.get("pid", "")),
                tag=str(info.get("tag") or ""),
                state=state,
                tone=tone,
                quiet=info.get("quiet") is True,
                queues=_queues(info),
                busy=runs,
                concurrency=threads,
                share=f"{min(1.0, runs / threads):.2f}" if threads else "0",
                memory=memory(info.get("rss_kb")),
                beat=_("beat unknown")
                if process.beat_at is None
                else _("beat %(time)s ago") % {"time": duration(max(0.0, silent))},
                version=str(info.get("version", "")),
                fetch=str(info.get("fetch", "")),
                started_at=times.told(info.get("started_at")),
            )
        )
    return sorted(found, key=lambda card: (card.host, card.identity))


def running_rows(page: Page, snapshot: Snapshot) -> list[RunningRow]:
    """Build the rows of all running jobs, the longest first."""
    rows = Rows(page.links, access.May.of(page.request, read_only=False))
    found = []
    for identity, work in snapshot.work:
        job, since = work.get("payload"), times.told(work.get("run_at"))
        found.append(
            RunningRow(
                job=rows.of_payload(job if isinstance(job, dict) else {}),
                identity=identity,
                url=page.links.to("worker", identity),
                thread=str(work.get("thread", "")),
                run_at=since,
                elapsed="" if since is None else duration(max(0.0, snapshot.now - since)),
            )
        )
    return sorted(found, key=lambda row: row.run_at or 0.0)


def orphans(snapshot: Snapshot) -> list[Orphan]:
    """Return what dead processes have left: a round trip only when there are any."""
    if not snapshot.silent:
        return []
    threshold = runtime.current().config.orphan_threshold
    names = sorted(snapshot.silent)[:ORPHANS]
    found = []
    for identity, jobs in unsettled_of(names).items():
        beat = snapshot.silent[identity]
        left = None if beat is None else beat + threshold - snapshot.now
        due = (
            _("in %(time)s at the earliest") % {"time": duration(left)} if left and left > 0 else _("at the next look")
        )
        found.append(Orphan(identity=identity, jobs=jobs, beat_at=beat, due=due))
    return found


def _state(info: Mapping[str, Any], silent: float) -> tuple[str, str]:
    if silent > SILENT:
        return _("Silent"), "danger"
    if info.get("quiet") is True:
        return _("Quiet"), "warning"
    return _("Active"), "success"


def _queues(info: Mapping[str, Any]) -> str:
    pairs = info.get("queues")
    shown = []
    for pair in pairs if isinstance(pairs, list) else []:
        if isinstance(pair, list) and pair:
            weight = pair[1] if len(pair) > 1 else 1
            shown.append(str(pair[0]) if weight == 1 else f"{pair[0]} ({weight})")
    return ", ".join(shown)
