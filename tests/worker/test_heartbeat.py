"""Beats go on, whatever else goes wrong."""

from __future__ import annotations

import pytest

from tests.worker.rigs import Rigs, messages, until


def test_a_job_that_cannot_be_shown_does_not_end_the_beats(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process without beats counts as dead, and its jobs would run a second time elsewhere."""
    rig = rigs(orphan_threshold=0.3).start()

    def published() -> bytes:
        raise RecursionError("too deep to be shown")

    monkeypatch.setattr(rig.worker.work, "published", published)
    until(lambda: "heartbeat failed: RecursionError: too deep to be shown" in messages(caplog))
    beats = rig.store.gateway.call("HGET", "t:beats", rig.identity)
    until(lambda: rig.store.gateway.call("HGET", "t:beats", rig.identity) != beats)
