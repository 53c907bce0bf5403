"""Signals about jobs and workers, by real pushes and a real worker (contract 9)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.dispatch import Signal
from django.test import override_settings

from cogworker_django import conf, definition, job, runtime, signals, testing
from cogworker_django.core.cron import Cron
from cogworker_django.core.entry import Entry
from cogworker_django.core.events import Event
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job
from cogworker_django.features.firing import Firing
from cogworker_django.signals import Signals
from cogworker_django.store.jobsets import SetName
from cogworker_django.store.periodic import Fired
from tests.support import finished, manage, project
from tests.worker.rigs import Rig, Rigs, rigs, until

__all__ = ["rigs"]

ALL: dict[str, Signal] = {str(event): getattr(signals, event) for event in Event}


class Ear:
    """Hears signals until the test ends."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any, dict[str, Any]]] = []
        self._connected: list[tuple[Signal, Any]] = []

    def listen(self, *names: str, sender: Any = None) -> Ear:
        for name in names or ALL:
            self._connect(name, sender)
        return self

    def _connect(self, name: str, sender: Any) -> None:
        def receiver(sender: Any, signal: Signal, **facts: Any) -> None:
            self.heard.append((name, sender, facts))

        ALL[name].connect(receiver, sender=sender, weak=False)
        self._connected.append((ALL[name], receiver))

    def names(self) -> list[str]:
        return [name for name, *_ in self.heard]

    def close(self) -> None:
        for signal, receiver in self._connected:
            for sender in (None, *(each for each in definition.REGISTRY)):
                signal.disconnect(receiver, sender=sender)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[type[Job]]:
    """The jobs of the test only."""
    own: Registry[type[Job]] = Registry()
    for module in (definition, conf):
        monkeypatch.setattr(module, "REGISTRY", own)
    return own


@pytest.fixture
def ear() -> Iterator[Ear]:
    hearing = Ear()
    yield hearing
    hearing.close()


@pytest.fixture
def fake(registry: Registry[type[Job]]) -> Iterator[None]:
    """Jobs are kept; nothing listens where Redis is said to be."""
    runtime.install(conf.build_runtime)
    with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1/0"}), testing.fake():
        yield
    runtime.reset()


@pytest.fixture
def rig(rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A worker that tells."""
    monkeypatch.setattr("tests.worker.rigs.Runtime", partial(runtime.Runtime, announcer=Signals()))
    return rigs()


@pytest.mark.usefixtures("fake")
def test_a_push_is_told_with_the_job_and_its_payload(ear: Ear) -> None:
    @job(name="note", queue="low")
    def note(*args: Any) -> None: ...

    ear.listen()
    jid = note.perform_async(1)
    ((name, sender, facts),) = ear.heard
    assert (name, sender) == ("job_enqueued", note.job_class)
    assert (facts["payload"]["jid"], facts["payload"]["args"], facts["payload"]["queue"]) == (jid, [1], "low")
    note.perform_bulk([(2,), (3,)])
    note.perform_in(60, 4)
    assert ear.names() == ["job_enqueued"] * 4


@pytest.mark.usefixtures("fake")
def test_a_refusal_is_told_at_once_and_after_a_commit(ear: Ear) -> None:
    """Contract 2."""

    @job(name="note", unique="until_executed")
    def note(*args: Any) -> None: ...

    ear.listen()
    note.perform_async(1)
    assert note.perform_async(1) is None
    assert ear.names() == ["job_enqueued", "job_refused"]
    with transaction.atomic():
        jid = note.perform_on_commit(1)
        note.perform_on_commit(2)
        assert len(ear.heard) == 2
    assert ear.names()[2:] == ["job_refused", "job_enqueued"]
    assert ear.heard[2][2]["payload"]["jid"] == jid


@pytest.mark.usefixtures("fake")
def test_what_receivers_do_to_a_payload_does_not_reach_the_job(ear: Ear) -> None:
    @job(name="note")
    def note(*args: Any) -> None: ...

    ear.listen("job_enqueued")
    note.perform_async([1])
    ear.heard[0][2]["payload"]["args"][0].append(2)
    assert [payload["args"] for payload in note.jobs] == [[[1]]]


@pytest.mark.usefixtures("fake")
def test_a_receiver_may_be_connected_to_one_job(ear: Ear) -> None:
    @job(name="one")
    def one() -> None: ...

    @job(name="other")
    def other() -> None: ...

    ear.listen("job_enqueued", sender=one.job_class)
    other.perform_async()
    one.perform_async()
    assert [facts["payload"]["class"] for _, _, facts in ear.heard] == ["one"]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("trouble", [RuntimeError, SystemExit])
def test_a_receiver_that_fails_is_logged_and_the_job_is_enqueued(
    trouble: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    @job(name="note")
    def note() -> None: ...

    def receiver(**_: Any) -> None:
        raise trouble("receiver")

    signals.job_enqueued.connect(receiver)
    try:
        with caplog.at_level(logging.ERROR):
            assert note.perform_async() is not None
    finally:
        signals.job_enqueued.disconnect(receiver)
    assert len(note.jobs) == 1
    assert any("receiver" in record.getMessage() for record in caplog.records)


def test_in_inline_mode_the_signals_of_runs_are_sent(ear: Ear, registry: Registry[type[Job]]) -> None:
    @job(name="note")
    def note() -> int:
        return 5

    runtime.install(conf.build_runtime)
    ear.listen()
    with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1/0"}), testing.inline():
        note.perform_async()
    assert ear.names() == ["job_started", "job_succeeded", "job_enqueued"]
    assert ear.heard[1][2]["result"] == 5


def test_a_run_is_told_in_the_worker(rig: Rig, ear: Ear) -> None:
    @job(name="note")
    def note() -> int:
        return 5

    ear.listen()
    rig.start()
    jid = rig.push("note")
    until(lambda: len(ear.heard) == 2)
    assert [(name, sender) for name, sender, _ in ear.heard] == [
        ("job_started", note.job_class),
        ("job_succeeded", note.job_class),
    ]
    assert [facts["payload"]["jid"] for _, _, facts in ear.heard] == [jid, jid]


def test_each_failure_is_told_and_the_death_once(rig: Rig, ear: Ear) -> None:
    @job(name="fail")
    def fail() -> None:
        raise ValueError("no such luck")

    ear.listen()
    rig.start()
    rig.push("fail", retry=1)
    until(lambda: rig.retries())
    assert ear.names() == ["job_started", "job_failed"]
    rig.store.graduation.requeue(SetName.RETRY, rig.raw("retry"))
    until(lambda: len(ear.heard) == 5)
    assert ear.names() == ["job_started", "job_failed"] * 2 + ["job_dead"]
    _, sender, facts = ear.heard[-1]
    assert sender is fail.job_class
    assert isinstance(facts["error"], ValueError)
    assert facts["payload"]["retry_count"] == 2


def test_the_job_of_a_periodic_entry_is_told_of_once(rig: Rig, ear: Ear) -> None:
    @job(name="note")
    def note() -> None: ...

    ear.listen()
    entry = Entry(name="often", cron=Cron("* * * * *", "UTC"), job="note")
    firing = Firing(rig.store.periodic, rig.runtime.client, rig.runtime.announcer)
    assert [firing.fire(entry, 60), firing.fire(entry, 60)] == [Fired.FIRED, Fired.TAKEN]
    assert ear.names() == ["job_enqueued"]
    assert ear.heard[0][2]["payload"]["periodic_name"] == "often"


def test_a_job_whose_code_is_not_here_has_no_sender(rig: Rig, ear: Ear) -> None:
    ear.listen("job_failed")
    rig.start()
    rig.push("unknown")
    until(lambda: ear.heard)
    assert ear.heard[0][1] is None


def test_a_receiver_that_fails_changes_nothing_about_a_run(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    @job(name="note")
    def note() -> None:
        seen.append(1)

    def receiver(**_: Any) -> None:
        raise SystemExit(3)

    for signal in ALL.values():
        signal.connect(receiver)
    rig.start()
    try:
        with caplog.at_level(logging.CRITICAL, logger="cogworker"):
            rig.push("note")
            until(lambda: rig.counts() == (1, 0))
    finally:
        for signal in ALL.values():
            signal.disconnect(receiver)
    assert seen == [1]


def test_without_receivers_nothing_is_told() -> None:
    class Counting(Signals):
        told = 0

        def tell(self, event: Event, **facts: Any) -> None:
            self.told += 1

    counting = Counting()
    assert not any(counting.wanted(event) for event in Event)
    assert {str(event) for event in Event} == set(ALL)


JOBS = """
from cogworker_django import job, signals

def heard(signal, identity, **_):
    print("heard", "started" if signal is signals.worker_started else "stopping", identity.count(":"), flush=True)

signals.worker_started.connect(heard)
signals.worker_stopping.connect(heard)
"""


@pytest.mark.slow
def test_a_worker_tells_when_it_starts_and_stops(tmp_path: Any, redis_url: str) -> None:
    place = project(tmp_path, {"REDIS": redis_url}, JOBS)
    status, out, err = finished(manage("cogworker", "--drain", **place))
    assert status == 0, err
    assert [line for line in out.splitlines() if line.startswith("heard")] == ["heard started 2", "heard stopping 2"]
