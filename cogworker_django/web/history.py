"""The runs of the past: filtered and turned on the server, whatever their number (reference, section 30.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cogworker_django.api.browse import Spot
from cogworker_django.api.runs import ALL, FAILED, LOOK, SUCCESS, Mode, Run, Runs, find_run, read_spot, runs
from cogworker_django.api.snapshot import Wanted
from cogworker_django.core import codec, times
from cogworker_django.web.access import May
from cogworker_django.web.frame import web_config
from cogworker_django.web.job import LINES, part_of
from cogworker_django.web.overview import DEFAULT_PERIOD, PERIODS, runs_per_day
from cogworker_django.web.page import Page, missing
from cogworker_django.web.paging import Pager
from cogworker_django.web.rows import JobRow, Rows
from cogworker_django.web.searching import BUDGET, matches, needle
from cogworker_django.web.wording import count, run_time

STATUSES = {
    "": (ALL, gettext_lazy("All")),
    SUCCESS: (SUCCESS, gettext_lazy("Success")),
    FAILED: (FAILED, gettext_lazy("Failed")),
}
FIELDS = ("class", "queue", "jid", "error", "min_ms", "q")
START = Spot(place=0)
MOST = 200  # runs on a page


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """One run in the table."""

    job: JobRow
    url: str
    finished_at: float | None
    failed: bool
    took: str
    host: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """What is wanted of the runs."""

    words: Mapping[str, str]
    """The fields that are filled in."""
    least: float
    """Seconds that a run took at least."""

    @classmethod
    def of(cls, request: HttpRequest) -> Filter:
        """Read the form; what makes no sense is passed over (Z10)."""
        words = {name: request.GET.get(name, "").strip()[:200] for name in FIELDS}
        text = words.pop("min_ms")
        least = float(text) / 1000 if text.isdecimal() and len(text) < 12 else 0.0
        return cls(words={name: word for name, word in words.items() if word}, least=least)

    @property
    def empty(self) -> bool:
        """Whether every run is wanted."""
        return not self.words and not self.least

    @property
    def word(self) -> str:
        """What the entry of a wanted run must contain."""
        return max((needle(word) for word in self.words.values()), key=len, default="")

    def fits(self, run: Run, row: JobRow) -> bool:
        """Tell whether a run is wanted; on what the reader may see."""
        words = self.words
        error = f"{row.error_class}: {row.error_message}"
        return (
            ("jid" not in words or row.jid == words["jid"])
            and ("queue" not in words or row.queue == words["queue"])
            and words.get("class", "").casefold() in row.klass.casefold()
            and words.get("error", "").casefold() in error.casefold()
            and (run.seconds or 0.0) >= self.least
            and ("q" not in words or matches(words["q"], row) or words["q"].casefold() in error.casefold())
        )


class HistoryPage(Page):
    """The tab with all runs."""

    tab = "history"
    template = "cogworker/history.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of them."""
        status = request.GET.get("status", "")
        status = status if status in STATUSES else ""
        period = request.GET.get("period", DEFAULT_PERIOD)
        period = period if period in PERIODS else DEFAULT_PERIOD
        snapshot, wanted = self.look(Wanted(days=PERIODS[period][0])), Filter.of(request)
        oldest = request.GET.get("order") == "oldest"
        size = min(web_config().history_per_page, MOST)
        make = _maker(self)
        if wanted.empty:
            spot, mode = _asked(request)
            page = runs(STATUSES[status][0], spot, mode, size, oldest=oldest)
            rows, pager = [make(run) for run in page.runs], self._pager(page, mode)
        else:
            page, rows = search(STATUSES[status][0], wanted, _asked(request)[0], size, oldest, make)
            pager = self._search_pager(page, rows)
        context = {
            "rows": rows,
            "pager": pager,
            "searched": not wanted.empty,
            "statuses": [
                (label, self.links.here(status=name or None, after=None, before=None), name == status)
                for name, (_list, label) in STATUSES.items()
            ],
            "status": status,
            "fields": {name: request.GET.get(name, "")[:200] for name in FIELDS},
            "filtered": not wanted.empty,
            "clear_url": self.links.to("history", query={"status": status}),
            "jid": wanted.words.get("jid", ""),
            "job_url": self.links.to("job", wanted.words["jid"]) if "jid" in wanted.words else "",
            "order_url": self.links.here(order=None if oldest else "oldest", after=None, before=None),
            "oldest": oldest,
            "chart": runs_per_day(snapshot),
            "periods": [
                (label, self.links.here(period=None if name == DEFAULT_PERIOD else name), name == period)
                for name, (_days, label) in PERIODS.items()
            ],
        }
        return self.show(snapshot, context)

    def _pager(self, page: Runs, mode: Mode) -> Pager:
        links, first = self.links, self.links.here(after=None, before=None)
        turned = any(name in links.parameters for name in (Mode.AFTER, Mode.BEFORE))
        if not page.runs:
            return Pager(text=_("Nothing here."), previous="", following="", first=first if turned else "", moved=False)
        text = _("%(first)s to %(last)s of %(size)s") % {
            "first": count(page.first + 1),
            "last": count(page.first + len(page.runs)),
            "size": count(page.size),
        }
        return Pager(
            text=text,
            previous=links.here(before=page.runs[0].spot, after=None) if page.first > 0 else "",
            following=links.here(after=page.runs[-1].spot, before=None) if page.more is not None else "",
            first=first if page.first > 0 else "",
            moved=turned and not page.met,
        )

    def _search_pager(self, page: Runs, rows: list[RunRow]) -> Pager:
        facts = {"number": count(len(rows)), "looked": count(page.looked), "size": count(page.size)}
        text = _("%(number)s found; %(looked)s of %(size)s runs were looked at.") % facts
        further = "" if page.more is None else self.links.here(after=f"{page.more}~", before=None)
        first = self.links.here(after=None, before=None) if Mode.AFTER in self.links.parameters else ""
        return Pager(text=text, previous="", following=further, first=first, moved=False)


class RunPage(Page):
    """The page of one run."""

    tab = "history"
    template = "cogworker/run.html"

    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        """Show it, as long as the history keeps it."""
        snapshot, run = self.look(), find_run(id)
        if run is None:
            return missing(self, _("The history does not have this run, or no longer."), snapshot)
        may = May.of(request, read_only=False)
        rows, item = Rows(self.links, may), run.item
        _line, secrets = rows.arguments(item)
        trace = item.get("backtrace")
        lines = [str(line) for line in trace[-LINES:]] if isinstance(trace, list) else []
        message = item.get("error_message")
        row = _maker(self)(run)
        context = {
            "row": row,
            "started_at": times.told(item.get("started_at")),
            "arguments": part_of(self, _arguments(rows, item)) if may.view_arguments else None,
            "omitted": bool(item.get("args_omitted")),
            "message": rows.mask.text(message[:10_000], secrets) if isinstance(message, str) else "",
            "backtrace": "\n".join(rows.mask.text(line, secrets) for line in lines) if may.view_arguments else "",
            "others_url": self.links.to("history", query={"jid": item.get("jid")}),
        }
        return self.show(snapshot, context, title=f"{_('Run')} {row.job.klass}")


def search(
    status: str, wanted: Filter, spot: Spot, size: int, oldest: bool, make: Callable[[Run], RunRow]
) -> tuple[Runs, list[RunRow]]:
    """Look for runs, in steps of a few milliseconds of the server's time each, within the budget.

    Args:
        status: which list.
        wanted: which runs.
        spot: where the search before has ended.
        size: runs wanted.
        oldest: begin with the oldest.
        make: makes a row.
    """
    found: list[RunRow] = []
    start = place = spot.place
    while True:
        page = runs(
            status,
            Spot(place=place),
            Mode.AFTER,
            size - len(found) if wanted.word else LOOK,
            text=wanted.word,
            oldest=oldest,
        )
        for run in page.runs:
            row = make(run)
            if wanted.fits(run, row.job):
                found.append(row)
        place = page.size if page.more is None else page.more
        if page.more is None or len(found) >= size or place - start >= BUDGET:
            return replace(page, looked=max(0, place - start)), found


def _maker(page: Page) -> Callable[[Run], RunRow]:
    rows = Rows(page.links, May.of(page.request, read_only=False))

    def make(run: Run) -> RunRow:
        item = run.item
        return RunRow(
            job=rows.of_payload(item),
            url=page.links.to("run", run.id),
            finished_at=times.told(item.get("finished_at")),
            failed=item.get("status") == FAILED,
            took="" if run.seconds is None else run_time(run.seconds),
            host=str(item.get("host", ""))[:200],
        )

    return make


def _asked(request: HttpRequest) -> tuple[Spot, Mode]:
    for mode in (Mode.AFTER, Mode.BEFORE):
        if mode in request.GET:
            try:
                return read_spot(request.GET[mode]), mode
            except ValueError:
                continue
    return START, Mode.AFTER


def _arguments(rows: Rows, item: Mapping[str, Any]) -> str:
    args, kwargs = item.get("args"), item.get("kwargs")
    shown = rows.mask.arguments(
        str(item.get("class", "")), args if isinstance(args, list) else [], kwargs if isinstance(kwargs, dict) else {}
    )
    return codec.pretty(shown.args) + (f"\n{codec.pretty(shown.kwargs)}" if shown.kwargs else "")
