"""Which address shows which page."""

from __future__ import annotations

from importlib import import_module

from django.urls import URLPattern, URLResolver, path, register_converter

from cogworker_django.web.extend import tab_patterns
from cogworker_django.web.frame import web_config
from cogworker_django.web.history import HistoryPage, RunPage
from cogworker_django.web.job import JobPage
from cogworker_django.web.jobs import JobsPage
from cogworker_django.web.links import Anything
from cogworker_django.web.metrics import HealthPage, MetricsPage
from cogworker_django.web.operations import OperationPage, OperationsPage
from cogworker_django.web.overview import OverviewPage
from cogworker_django.web.queue import QueuePage
from cogworker_django.web.schedules import SchedulePage, SchedulesPage
from cogworker_django.web.settings_page import PreferencesPage
from cogworker_django.web.workers import WorkerPage, WorkersPage

register_converter(Anything, "anything")


def routes() -> list[URLPattern | URLResolver]:
    """Return all of them; what the project adds comes last."""
    for extension in web_config().extensions:
        import_module(extension)
    return [
        path("", OverviewPage.as_view(), name="overview"),
        path("overview/", OverviewPage.as_view()),
        path("jobs/", JobsPage.as_view(), name="jobs"),
        path("jobs/<anything:jid>/", JobPage.as_view(), name="job"),
        path("operations/", OperationsPage.as_view(), name="operations"),
        path("operations/<anything:id>/", OperationPage.as_view(), name="operation"),
        path("queues/<anything:name>/", QueuePage.as_view(), name="queue"),
        path("schedules/", SchedulesPage.as_view(), name="schedules"),
        path("schedules/<anything:name>/", SchedulePage.as_view(), name="schedule"),
        path("workers/", WorkersPage.as_view(), name="workers"),
        path("workers/<anything:identity>/", WorkerPage.as_view(), name="worker"),
        path("history/", HistoryPage.as_view(), name="history"),
        path("history/<anything:id>/", RunPage.as_view(), name="run"),
        path("preferences/", PreferencesPage.as_view(), name="preferences"),
        path("metrics", MetricsPage.as_view(), name="metrics"),
        path("health", HealthPage.as_view(), name="health"),
        *tab_patterns(),
    ]
