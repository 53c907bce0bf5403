"""What is shown of processes: their cards, what they run, and what dead ones have left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from cogworker_django import runtime
from cogworker_django.api.processes import unsettled_of
from cogworker_django.api.snapshot import ProcessState, Snapshot
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


def by_host(snapshot: Snapshot) -> list[ProcessState]:
    """Return the processes in the order of their hosts."""
    return sorted(snapshot.processes, key=lambda process: (_host(process), process.identity))


def busy_of(snapshot: Snapshot) -> dict[str, int]:
    """Count what each process runs, in the same look as everything else (Z48)."""
    busy: dict[str, int] = {}
    for identity, _job in snapshot.work:
        busy[identity] = busy.get(identity, 0) + 1
    return busy


def card_of(page: Page, process: ProcessState, snapshot: Snapshot, runs: int) -> Card:
    """Build the card of a process.

    Args:
        page: that shows it.
        process: the process.
        snapshot: that it was seen in.
        runs: how many jobs it runs.
    """
    info, silent = process.info, snapshot.now - (process.beat_at or 0.0)
    threads, (state, tone) = number(info.get("concurrency")), _state(info, silent)
    beat = _("beat unknown")
    if process.beat_at is not None:
        beat = _("beat %(time)s ago") % {"time": duration(max(0.0, silent))}
    return Card(
        identity=process.identity,
        url=page.links.to("worker", process.identity),
        host=_host(process),
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
        beat=beat,
        version=str(info.get("version", "")),
        fetch=str(info.get("fetch", "")),
        started_at=times.told(info.get("started_at")),
    )


def running_rows(page: Page, work: Sequence[tuple[str, Mapping[str, Any]]], now: float) -> list[RunningRow]:
    """Build the rows of running jobs.

    Args:
        page: that shows them.
        work: them, as in a snapshot.
        now: Redis's time.
    """
    rows = Rows(page.links, access.May.of(page.request, read_only=False))
    found = []
    for identity, fields in work:
        job, since = fields.get("payload"), times.told(fields.get("run_at"))
        found.append(
            RunningRow(
                job=rows.of_payload(job if isinstance(job, dict) else {}),
                identity=identity,
                url=page.links.to("worker", identity),
                thread=str(fields.get("thread", "")),
                run_at=since,
                elapsed="" if since is None else duration(max(0.0, now - since)),
            )
        )
    return found


def longest_first(snapshot: Snapshot, identity: str = "", queue: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return what runs, the longest first: sorted before rows are made, for thousands may run.

    Args:
        snapshot: with what runs.
        identity: only what this process runs; empty for all.
        queue: only jobs of this queue; empty for all.
    """
    wanted = [
        (name, work)
        for name, work in snapshot.work
        if (not identity or name == identity) and (not queue or work.get("queue") == queue)
    ]
    return sorted(wanted, key=lambda each: times.told(each[1].get("run_at")) or 0.0)


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


def _host(process: ProcessState) -> str:
    return str(process.info.get("hostname", "")) or process.identity.partition(":")[0]


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
