"""Failures of large jobs, which come to more than the server takes in one argument."""

from __future__ import annotations

import pytest

from cogworker_django.definition import job
from cogworker_django.worker import hold
from tests.support import StartServer
from tests.worker.rigs import Rigs, until


def test_large_failures_are_settled_in_several_trips(
    rigs: Rigs, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaled down: an argument may have 512 MiB otherwise, and with an outage a hundred verdicts come together."""
    monkeypatch.setattr(hold, "BYTES_PER_TRIP", 400_000)
    server = start_server("--proto-max-bulk-len", "1mb")
    held = rigs.holding("unused")

    @job(name="large")
    def large(text: str) -> None:
        held.run()
        raise ValueError(f"{len(text)} in vain")

    rig = rigs(url=server.url, concurrency=10).start()
    jids = rig.push_many("large", [("x" * 150_000,)] * 10)
    until(lambda: held.started == 10)
    rig.faults.away = True
    held.let_go()
    until(lambda: len(rig.worker.exchange.hold.verdicts) == 10)
    rig.faults.away = False
    until(lambda: {entry["jid"] for entry in rig.retries()} == set(jids))
