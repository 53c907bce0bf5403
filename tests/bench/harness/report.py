"""The Markdown of a run: the table for the README, and the figures behind it."""

import statistics
from dataclasses import dataclass

from tests.bench.adapters import Variant
from tests.bench.harness.bench import Results


@dataclass(frozen=True)
class Column:
    title: str
    scenario: str
    figures: tuple[str, ...]  # two of them are shown as a/b
    digits: int = 0
    spread: bool = True

    def cell(self, results: Results, variant: Variant, spread: bool) -> str:
        """The median of the repeats; with the smallest and the largest of them, where asked."""
        columns = [results.values(variant.name, self.scenario, figure) for figure in self.figures]
        if not all(columns):
            return "-"
        text = "/".join(f"{statistics.median(values):,.{self.digits}f}" for values in columns)
        if spread and self.spread and len(columns[0]) > 1:
            edges = ("/".join(f"{edge(values):,.{self.digits}f}" for values in columns) for edge in (min, max))
            text += " ({} to {})".format(*edges)
        return text


OVERVIEW = [
    Column("no-op jobs/s", "drain1", ("rate",)),
    Column("with two processes", "drain2", ("rate",)),
    Column("10 ms jobs/s", "naps", ("rate",)),
    Column("round trips a job", "drain1", ("round_trips",), 2),
    Column("enqueue/s", "enqueue", ("rate",)),
    Column("in bulk/s", "enqueue", ("bulk_rate",)),
    Column("pick-up p50/p99, ms", "latency1", ("p50", "p99"), 1),
    Column("idle MiB", "idle", ("pss",)),
    Column("due at once: last, s", "scheduled", ("last",), 2),
]
DETAILS = {
    "Enqueue": [
        Column("jobs/s", "enqueue", ("rate",)),
        Column("round trips", "enqueue", ("round_trips",), 2),
        Column("commands", "enqueue", ("commands",), 1),
        Column("client CPU µs", "enqueue", ("cpu_us",)),
        Column("bulk jobs/s", "enqueue", ("bulk_rate",)),
    ],
    "Drain": [
        Column("1 process, jobs/s", "drain1", ("rate",)),
        Column("2 processes, jobs/s", "drain2", ("rate",)),
        Column("round trips", "drain1", ("round_trips",), 2, spread=False),
        Column("commands", "drain1", ("commands",), 2, spread=False),
        Column("worker CPU µs", "drain1", ("worker_cpu_us",), spread=False),
        Column("Redis CPU µs", "drain1", ("redis_cpu_us",), spread=False),
        Column("10 ms jobs/s", "naps", ("rate",)),
        Column("1 ms away, jobs/s", "far", ("rate",)),
    ],
    "Pick-up and idle cost": [
        Column("1 queue p50/p99, ms", "latency1", ("p50", "p99"), 2),
        Column("3 queues p50/p99, ms", "latency3", ("p50", "p99"), 2),
        Column("idle commands/s", "idle", ("commands_s",), 1, spread=False),
        Column("CPU, % of a core", "idle", ("cpu_percent",), 2, spread=False),
        Column("resident MiB", "idle", ("rss",), spread=False),
        Column("proportional MiB", "idle", ("pss",), spread=False),
        Column("processes", "idle", ("processes",), spread=False),
    ],
    "All due at one moment": [
        Column("jobs", "scheduled", ("count",), spread=False),
        Column("first started after, s", "scheduled", ("first",), 2),
        Column("last, s", "scheduled", ("last",), 2),
    ],
    "Memory over 1,000,000 jobs": [
        Column("MiB for 100,000 jobs", "memory", ("slope",), 2),
        Column("after the first 100,000", "memory", ("first",), 1),
        Column("at the end", "memory", ("last",), 1),
    ],
}


def overview(results: Results, variants: list[Variant]) -> str:
    """One row a peer; those that can lose a job are told apart by the last column."""
    header = [column.title for column in OVERVIEW] + ["a job whose worker is killed"]
    rows = measured(OVERVIEW, results, variants, spread=False)
    fates = {variant.name: variant.on_kill for variant in variants}
    return table(header, {name: [*cells, fates[name]] for name, cells in rows.items()})


def details(results: Results, variants: list[Variant]) -> str:
    parts = []
    for title, columns in DETAILS.items():
        if rows := measured(columns, results, variants, spread=True):
            parts += [f"### {title}", table([column.title for column in columns], rows)]
    parts += [f"Left in Redis by {row['variant']} when killed: {row['left']}" for row in results.rows if "left" in row]
    return "\n\n".join(parts)


def measured(columns: list[Column], results: Results, variants: list[Variant], spread: bool) -> dict[str, list[str]]:
    """The cells of the variants that have any."""
    rows = {variant.name: [column.cell(results, variant, spread) for column in columns] for variant in variants}
    return {name: cells for name, cells in rows.items() if any(text != "-" for text in cells)}


def table(header: list[str], rows: dict[str, list[str]]) -> str:
    """Without the columns that nobody has."""
    kept = [number for number in range(len(header)) if any(cells[number] != "-" for cells in rows.values())]
    lines = [
        ["peer", *(header[number] for number in kept)],
        ["---"] * (len(kept) + 1),
        *([name, *(cells[number] for number in kept)] for name, cells in rows.items()),
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
