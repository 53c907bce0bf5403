"""The installation in numbers."""

from __future__ import annotations

from cogworker_django.api.door import opened
from cogworker_django.store.statistics import HourCount
from cogworker_django.store.store import Store


class Stats:
    """Totals and sizes, as they were when this was made; what is damaged counts as 0.

    Args:
        store: where to look; by default the current runtime's.

    Raises:
        RedisUnavailable: Redis is away.
    """

    def __init__(self, store: Store | None = None) -> None:
        summary = opened(store).statistics.summary()
        self.processed = summary.processed
        """Runs that succeeded."""
        self.failed = summary.failed
        """Attempts that failed."""
        self.enqueued = summary.enqueued
        """Jobs on all queues."""
        self.scheduled_size = summary.scheduled_size
        self.retry_size = summary.retry_size
        self.dead_size = summary.dead_size


class Throughput:
    """What was done in each of the latest hours (Reference 20)."""

    @staticmethod
    def series(hours: int = 24, store: Store | None = None) -> list[HourCount]:
        """Read the hours up to the current one, oldest first, with zeros for idle ones.

        Args:
            hours: how many; counters last about a day.
            store: where to look; by default the current runtime's.

        Returns:
            `start` (epoch seconds, UTC), `processed` and `failed` of each hour.
        """
        return opened(store).statistics.series(hours)
