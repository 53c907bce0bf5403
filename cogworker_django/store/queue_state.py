"""What one look at a queue shows: read in the same round trip for many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cogworker_django.core import codec, times
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.lanes import BANDS
from cogworker_django.store import replies
from cogworker_django.store.keys import Keys

INTAKE = "*"  # the member of the paused set that pauses all queues; no queue can have this name
LOOKS = 2 * len(BANDS)
"""Replies that belong to one queue."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    """What one look at a queue shows."""

    name: str
    size: int
    latency: float
    """Seconds that its next job has waited, of several lanes the longest; 0 when there is none or it does not tell."""
    paused: bool
    """Whether this queue is paused, be it by the pause of all intake."""


def looks_at(keys: Keys, names: Sequence[str]) -> Iterator[replies.Command]:
    """Name the commands that look at queues.

    Args:
        keys: names of the keys.
        names: of the queues.
    """
    for name in names:
        for key in keys.lanes(name):
            yield "LLEN", key
            yield "LINDEX", key, -1


def states_in(names: Sequence[str], looks: Sequence[Any], paused: frozenset[str], now: float) -> list[QueueState]:
    """Read the replies; what is damaged counts as empty.

    Args:
        names: of the queues, in the order of the commands.
        looks: the replies.
        paused: names of the paused queues.
        now: epoch seconds.
    """
    return [
        _state(name, looks[first : first + LOOKS], name in paused or INTAKE in paused, now)
        for name, first in zip(names, range(0, len(looks), LOOKS), strict=True)
    ]


def _state(name: str, looks: Sequence[Any], paused: bool, now: float) -> QueueState:
    return QueueState(
        name=name,
        size=sum(int(replies.or_else(size, 0)) for size in looks[::2]),
        latency=max(latency_of(replies.or_else(job, None), now) for job in looks[1::2]),
        paused=paused,
    )


def latency_of(raw: Any, now: float) -> float:
    """Tell how many seconds the next job of a queue has waited; 0 when there is none or it does not tell."""
    if raw is None:
        return 0.0
    try:
        item = codec.decode(raw)
    except UnreadablePayload:
        return 0.0
    for field in ("enqueued_at", "created_at"):
        since = times.told(item.get(field))
        if since is not None:
            return max(0.0, now - since)
    return 0.0
