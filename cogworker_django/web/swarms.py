"""The slots of swarms, as the children tell of them: which process works in each, and which were given up for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cogworker_django.api.snapshot import Snapshot
from cogworker_django.web.links import Links

SWARMS = 20  # on a page
SLOTS = 200
TONES = {"running": "success", "retired": "neutral", "drained": "neutral"}


@dataclass(frozen=True, slots=True)
class SlotRow:
    """One slot."""

    number: int
    state: str
    tone: str
    pid: int | None
    url: str
    """Of the page of its process; empty when none shows."""
    starts: int


@dataclass(frozen=True, slots=True)
class SwarmRow:
    """One swarm."""

    host: str
    parent: int
    slots: list[SlotRow]


def swarms(snapshot: Snapshot, links: Links) -> list[SwarmRow]:
    """Return the swarms, each as the child with the latest beat tells of it.

    Args:
        snapshot: with the processes.
        links: makes addresses.
    """
    latest: dict[tuple[str, int], tuple[float, Mapping[str, Any]]] = {}
    pages: dict[tuple[str, int], str] = {}
    for process in snapshot.processes:
        host, pid, table = str(process.info.get("hostname", "")), process.info.get("pid"), process.info.get("swarm")
        if type(pid) is int:
            pages[host, pid] = links.to("worker", process.identity)
        if isinstance(table, dict) and type(table.get("parent")) is int:
            key, beat = (host, table["parent"]), process.beat_at or 0.0
            if key not in latest or latest[key][0] < beat:
                latest[key] = (beat, table)
    return [
        SwarmRow(host, parent, _slots(table, host, pages))
        for (host, parent), (_beat, table) in sorted(latest.items(), key=lambda each: each[0])[:SWARMS]
    ]


def _slots(table: Mapping[str, Any], host: str, pages: Mapping[tuple[str, int], str]) -> list[SlotRow]:
    told = table.get("slots")
    rows = []
    for slot in told[:SLOTS] if isinstance(told, list) else []:
        if not isinstance(slot, dict):
            continue
        number, pid, starts = (slot.get(name) for name in ("number", "pid", "starts"))
        state = str(slot.get("state", ""))[:50]
        known = pid if type(pid) is int else None
        rows.append(
            SlotRow(
                number=number if type(number) is int else 0,
                state=state,
                tone=TONES.get(state, "warning"),
                pid=known,
                url=pages.get((host, known), "") if known is not None else "",
                starts=starts if type(starts) is int else 0,
            )
        )
    return rows
