"""`manage.py cogworker_status`: processes, queues, sets and totals at one look (Contract 4)."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cogworker_django.api.intake import Intake
from cogworker_django.api.processes import ProcessSet
from cogworker_django.api.queue import QueueSet
from cogworker_django.api.stats import Stats
from cogworker_django.core.errors import CogworkerError
from cogworker_django.core.text import one_line
from cogworker_django.management.output import printable

GAP = "  "  # between two columns
MIB = 1024  # KiB
CELL = 60  # characters of one cell: what others have written into Redis must not spoil the table


class Command(BaseCommand):
    """Prints what the installation is doing."""

    help = "Shows worker processes, queues, scheduled, retrying and dead jobs, and totals."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Look and print; one sentence and exit 1 if Redis or the settings do not allow it."""
        try:
            status = snapshot()
        except CogworkerError as error:
            raise CommandError(str(error)) from None
        report = json.dumps(status, indent=2) if options["json"] else "\n".join(tables(status))
        self.stdout.write(printable(report, self.stdout))


def snapshot() -> dict[str, Any]:
    """Read everything that is shown, as plain values.

    Raises:
        RedisUnavailable: Redis is away.
        ConfigurationError: the settings are at fault.
    """
    stats = Stats()
    return {
        "processed": stats.processed,
        "failed": stats.failed,
        "enqueued": stats.enqueued,
        "scheduled_size": stats.scheduled_size,
        "retry_size": stats.retry_size,
        "dead_size": stats.dead_size,
        "intake_paused": Intake().paused,
        "processes": [dict(process) for process in ProcessSet()],
        "queues": [asdict(state) for state in QueueSet()],
    }


def tables(status: dict[str, Any]) -> list[str]:
    """Lay a snapshot out for people: lines of text."""
    processes = [_process_row(process) for process in status["processes"]]
    queues = [
        (queue["name"], queue["size"], f"{queue['latency']:.1f} s", "paused" if queue["paused"] else "")
        for queue in status["queues"]
    ]
    return [
        *(["Intake is paused: no process fetches any job.", ""] if status["intake_paused"] else []),
        *_table(("PROCESS", "BUSY", "STATE", "MEMORY", "QUEUES"), processes, "No process is running."),
        "",
        *_table(("QUEUE", "SIZE", "LATENCY", "STATE"), queues, "No queue has had a job yet."),
        "",
        *_table(
            ("SCHEDULED", "RETRYING", "DEAD", "PROCESSED", "FAILED"),
            [tuple(status[name] for name in ("scheduled_size", "retry_size", "dead_size", "processed", "failed"))],
            "",
        ),
    ]


def _process_row(process: dict[str, Any]) -> tuple[object, ...]:
    memory, queues = process.get("rss_kb"), process.get("queues")
    return (
        process["identity"],
        f"{process['busy']}/{process.get('concurrency', '?')}",
        "quiet" if process["quiet"] else "working",
        f"{memory // MIB} MiB" if isinstance(memory, int) else "?",
        " ".join(_weighted(queue) for queue in queues) if isinstance(queues, list) else "?",
    )


def _weighted(queue: object) -> str:
    match queue:
        case [name, 1]:
            return str(name)
        case [name, weight]:
            return f"{name},{weight}"
        case _:
            return "?"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]], empty: str) -> list[str]:
    if not rows:
        return [empty]
    cells = [list(head), *([one_line(str(cell), CELL) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return [line.rstrip() for line in lines]
