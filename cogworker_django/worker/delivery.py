"""A fetched job on its way through this process."""

from __future__ import annotations

from collections.abc import Sequence

from cogworker_django.core.lanes import queue_of


class Delivery:
    """One job as fetched: its raw bytes are its identity and are never rebuilt."""

    __slots__ = ("fetched", "number", "orphaned", "queue", "raw", "token")

    def __init__(self, number: int, lane: str, raw: bytes, fetched: float, orphaned: bool) -> None:
        self.number = number
        """The place in the order in which this process fetched."""
        self.token = f"{number}:{lane}"
        """Names the job in the in-progress hash."""
        self.queue = queue_of(lane)
        """The queue it was taken from, which an unreadable job cannot tell."""
        self.raw = raw
        self.fetched = fetched
        """When, on the monotonic clock."""
        self.orphaned = orphaned
        """Whether it may have an orphan counter, to be deleted when it finishes."""


def deliveries(
    jobs: Sequence[tuple[str, Sequence[bytes]]], first: int, fetched: float, orphaned: bool
) -> list[Delivery]:
    """What a trip has brought.

    Args:
        jobs: lanes and raw jobs, in the order of their tokens.
        first: the number of the first.
        fetched: when, on the monotonic clock.
        orphaned: whether they may have orphan counters.
    """
    pairs = [(lane, raw) for lane, raws in jobs for raw in raws]
    return [Delivery(number, lane, raw, fetched, orphaned) for number, (lane, raw) in enumerate(pairs, start=first)]
