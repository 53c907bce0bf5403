"""The middleware that the README shows for Sentry and OpenTelemetry, as it stands there, with the real SDKs."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from cogworker_django import conf, definition, job, runtime, testing
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job
from tests.support import ROOT

sentry_sdk = pytest.importorskip("sentry_sdk", reason="the SDKs are installed by tox")
pytest.importorskip("opentelemetry.sdk", reason="the SDKs are installed by tox")

from opentelemetry import trace  # noqa: E402 - once it is known to be there
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402


def recipe(name: str) -> types.ModuleType:
    """Make a module of the block of the README that begins with this file's name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"```python\n(# {re.escape(name)};.*?)```", text, re.DOTALL)
    module = types.ModuleType(f"recipe_{name.rpartition('/')[2].removesuffix('.py')}")
    exec(compile(block, name, "exec"), vars(module))
    return module


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The jobs of the test only, which run at once."""
    registry: Registry[type[Job]] = Registry()
    for module in (definition, conf):
        monkeypatch.setattr(module, "REGISTRY", registry)
    runtime.install(conf.build_runtime)
    yield
    runtime.reset()


def settings(module: types.ModuleType, **middleware: str) -> Any:
    sys.modules[module.__name__] = module
    paths = {f"{side.upper()}_MIDDLEWARE": [f"{module.__name__}.{name}"] for side, name in middleware.items()}
    return override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1/0", **paths})


@pytest.fixture
def events() -> Iterator[list[Any]]:
    """What goes to Sentry."""
    sent: list[Any] = []

    def keep(event: Any, hint: Any) -> None:
        sent.append(event)

    sentry_sdk.init(dsn="https://key@sentry.invalid/1", before_send=keep, default_integrations=False)
    yield sent
    sentry_sdk.init()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What is traced."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_sentry_gets_each_error_with_its_job(events: list[Any], asynchronous: bool) -> None:
    def fail(secret: str) -> None:
        raise ZeroDivisionError("no such luck")

    async def afail(secret: str) -> None:
        fail(secret)

    failing: Any = job(name="fail", queue="low")(afail if asynchronous else fail)
    with settings(recipe("shop/sentry.py"), server="report_errors"), testing.inline():
        with pytest.raises(ZeroDivisionError):
            failing.perform_async("x")
        sentry_sdk.capture_message("outside")
    error, outside = events
    assert [value["type"] for value in error["exception"]["values"]] == ["ZeroDivisionError"]
    assert error["tags"]["job"] == "fail"
    assert error["tags"]["queue"] == "low"
    assert error["contexts"]["job"]["failures"] == 0
    assert re.fullmatch(r"[0-9a-f]{24}", error["contexts"]["job"]["jid"])
    assert "job" not in outside.get("tags", {})


@pytest.mark.usefixtures("jobs")
def test_a_success_is_no_event(events: list[Any]) -> None:
    @job(name="fine")
    def fine() -> None: ...

    with settings(recipe("shop/sentry.py"), server="report_errors"), testing.inline():
        fine.perform_async()
    assert events == []


@pytest.mark.usefixtures("jobs")
def test_a_run_belongs_to_the_trace_of_its_push(spans: InMemorySpanExporter) -> None:
    @job(name="note", queue="low")
    def note() -> None:
        inner.append(trace.get_current_span().get_span_context().span_id)

    inner: list[int] = []
    module = recipe("shop/tracing.py")
    with settings(module, client="carry", server="follow"), testing.fake():
        with module.tracer.start_as_current_span("request"):
            note.perform_async()
        note.drain()
    request, run = spans.get_finished_spans()
    assert (run.name, run.kind) == ("note", trace.SpanKind.CONSUMER)
    assert run.context is not None
    assert run.parent is not None
    assert request.context is not None
    assert run.parent.span_id == request.context.span_id
    assert run.context.trace_id == request.context.trace_id
    assert inner == [run.context.span_id]
    assert run.attributes is not None
    assert run.attributes["messaging.destination.name"] == "low"
    assert run.attributes["cogworker.failures"] == 0


@pytest.mark.usefixtures("jobs")
def test_a_failure_is_an_error_and_a_retry_points_to_its_push(spans: InMemorySpanExporter) -> None:
    module = recipe("shop/tracing.py")
    payload: dict[str, Any] = {"class": "note", "jid": "j" * 24, "args": []}

    def fail() -> None:
        raise ValueError("no such luck")

    with module.tracer.start_as_current_span("request"):
        module.carry("note", payload, "low", None, lambda: None)
    with pytest.raises(ValueError, match="luck"):
        module.follow(None, payload, "low", fail)
    module.follow(None, {**payload, "retry_count": 1}, "low", lambda: None)
    request, first, second = spans.get_finished_spans()
    assert request.context is not None
    assert first.status.status_code is trace.StatusCode.ERROR
    assert [event.name for event in first.events] == ["exception"]
    assert second.parent is None
    assert [link.context.span_id for link in second.links] == [request.context.span_id]


@pytest.mark.usefixtures("jobs")
def test_without_a_trace_a_run_begins_one(spans: InMemorySpanExporter) -> None:
    module = recipe("shop/tracing.py")
    module.follow(None, {"class": "note", "jid": "j"}, "low", lambda: None)
    (run,) = spans.get_finished_spans()
    assert run.parent is None
    assert list(run.links) == []
