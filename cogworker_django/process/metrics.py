"""The figures of a worker's processes in the format of Prometheus.

Those of the whole installation are on the pages' `/metrics`; these tell only about the processes that are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cogworker_django.process.condition import Condition

CONTENT_TYPE = CONTENT_TYPE_LATEST
LABELS = ("slot",)

Reading = Callable[[Condition], float]

COUNTERS: Mapping[str, tuple[str, Reading]] = {
    "cogworker_process_jobs": ("Jobs run since the process started", lambda condition: condition.processed),
    "cogworker_process_failures": ("Jobs of these that failed", lambda condition: condition.failed),
}
GAUGES: Mapping[str, tuple[str, Reading]] = {
    "cogworker_process_threads": ("Threads that run jobs", lambda condition: condition.concurrency),
    "cogworker_process_busy_threads": ("Threads that run one now", lambda condition: condition.busy),
    "cogworker_process_ready": ("1 when the process takes jobs", lambda condition: not condition.unready),
    "cogworker_process_resident_bytes": ("Memory", lambda condition: (condition.rss_kb or 0) * 1024),
    "cogworker_process_redis_silence_seconds": (
        "Seconds since Redis last answered",
        lambda condition: condition.untouched,
    ),
}


def text(conditions: Mapping[int, Condition]) -> bytes:
    """Write the figures.

    Args:
        conditions: of the processes, by slot.
    """
    registry = CollectorRegistry()
    registry.register(_Figures(conditions))
    return generate_latest(registry)


class _Figures(Collector):
    """One moment, as the library asks for it."""

    def __init__(self, conditions: Mapping[int, Condition]) -> None:
        self._conditions = conditions

    def collect(self) -> Iterable[Metric]:
        for name, (meaning, read) in COUNTERS.items():
            counter = CounterMetricFamily(name, meaning, labels=LABELS)
            for slot, condition in self._conditions.items():
                counter.add_metric([str(slot)], read(condition))
            yield counter
        for name, (meaning, read) in GAUGES.items():
            gauge = GaugeMetricFamily(name, meaning, labels=LABELS)
            for slot, condition in self._conditions.items():
                gauge.add_metric([str(slot)], read(condition))
            yield gauge
