"""What Prometheus reads (reference, section 32), and whether the pages reach Redis."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views import View
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cogworker_django.api.processes import unsettled_of
from cogworker_django.api.snapshot import Snapshot, look
from cogworker_django.core.errors import CogworkerError
from cogworker_django.web import access
from cogworker_django.web.frame import web_config
from cogworker_django.web.headers import seal
from cogworker_django.web.process_cards import number

TEXT = "text/plain; version=0.0.4; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
BEARER = "Bearer "


class Figures(Collector):
    """The families of one scrape. Labels are names of queues and nothing else, so their number is fixed (B137).

    Args:
        snapshot: what was seen.
        in_progress: jobs that processes hold and have not settled.
    """

    def __init__(self, snapshot: Snapshot, in_progress: int) -> None:
        self._snapshot = snapshot
        self._in_progress = in_progress

    def collect(self) -> Iterator[Metric]:
        """Each family with what it means."""
        seen = self._snapshot
        yield CounterMetricFamily("cogworker_processed", "Runs that succeeded.", value=seen.processed)
        yield CounterMetricFamily("cogworker_failed", "Attempts that failed.", value=seen.failed)
        yield _gauge("retry_size", "Jobs that wait for a retry.", seen.retry_size)
        yield _gauge("scheduled_size", "Jobs with a due time that have not run yet.", seen.scheduled_size)
        yield _gauge("dead_size", "Jobs that do not run again by themselves.", seen.dead_size)
        yield from self._queues()
        busy = sum(number(process.info.get("busy")) for process in seen.processes)
        quiet = sum(process.info.get("quiet") is True for process in seen.processes)
        threads = sum(number(process.info.get("concurrency")) for process in seen.processes)
        yield _gauge("busy_workers", "Threads that run a job, as of the latest beats.", busy)
        yield _gauge("processes", "Living worker processes.", len(seen.processes))
        yield _gauge("quiet_processes", "Those that fetch nothing.", quiet)
        yield _gauge(
            "silent_processes", "Processes that are gone and have left jobs to be taken over.", len(seen.silent)
        )
        yield _gauge("threads", "Threads of the living processes.", threads)
        yield _gauge("in_progress_size", "Jobs that processes hold and have not settled.", self._in_progress)
        yield _gauge("intake_paused", "1 while no process fetches.", int(seen.intake_paused))

    def _queues(self) -> Iterator[Metric]:
        sizes = GaugeMetricFamily("cogworker_queue_size", "Jobs that wait on a queue.", labels=["queue"])
        waits = GaugeMetricFamily(
            "cogworker_queue_latency_seconds", "Seconds that the next job of a queue has waited.", labels=["queue"]
        )
        for queue in self._snapshot.queues:
            sizes.add_metric([queue.name], queue.size)
            waits.add_metric([queue.name], round(queue.latency, 3))
        yield sizes
        yield waits


class MetricsPage(View):
    """The figures, for whoever may see the pages or has the token."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Answer with Prometheus's text; 404 when it is switched off."""
        return seal(self._answer(request))

    def _answer(self, request: HttpRequest) -> HttpResponse:
        config = web_config()
        if not config.metrics:
            return HttpResponse("Not Found\n", status=404, content_type=PLAIN)
        if not (has_token(request, config.metrics_token) or access.has_right(request, access.VIEW)):
            return HttpResponse("Forbidden: log in, or send the bearer token.\n", status=403, content_type=PLAIN)
        try:
            snapshot = look()
            held = sum(unsettled_of([*(each.identity for each in snapshot.processes), *snapshot.silent]).values())
        except CogworkerError:
            return HttpResponse("Redis is not available.\n", status=503, content_type=PLAIN)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Figures(snapshot, held))
        return HttpResponse(generate_latest(registry), content_type=TEXT)


class HealthPage(View):
    """Whether this process reaches Redis, for load balancers; it tells nothing else, so it needs no log-in."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer 200, or 503 when Redis is away."""
        try:
            look()
        except CogworkerError:
            return seal(HttpResponse("Redis is not available.\n", status=503, content_type=PLAIN))
        return seal(HttpResponse("ok\n", content_type=PLAIN))


def has_token(request: HttpRequest, token: str | None) -> bool:
    """Tell whether a request brings the token, in a time that does not depend on how much of it is right."""
    given = request.headers.get("Authorization", "")
    if not token or not given.startswith(BEARER):
        return False
    return hmac.compare_digest(given.removeprefix(BEARER).strip().encode(), token.encode())


def _gauge(name: str, help: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"cogworker_{name}", help, value=value)
