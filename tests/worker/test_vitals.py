"""What a process knows of its own health: when Redis was last reached."""

from __future__ import annotations

import threading

from cogworker_django.worker.vitals import Vitals
from tests.support import StartServer
from tests.worker.rigs import Rigs, until


def test_it_counts_from_the_latest_fetch_and_settlement() -> None:
    now = [100.0]
    vitals = Vitals(monotonic=lambda: now[0])
    now[0] = 103.0
    vitals.fetched()
    now[0] = 105.0
    assert (vitals.since_fetch, vitals.since_settle) == (2.0, 5.0)
    vitals.settled()
    assert vitals.since_settle == 0.0


def test_a_process_that_idles_knows_that_it_could_fetch(rigs: Rigs) -> None:
    """It looks by itself, so this never grows beyond the longest wait while Redis is there."""
    rig = rigs(fetch_idle_max_interval=0.05).start()
    vitals = rig.worker.exchange.vitals
    until(rig.idle)
    for _ in range(3):
        before = vitals._fetched
        until(lambda before=before: vitals._fetched > before)  # type: ignore[misc]
    assert vitals.since_fetch < 5.0


def test_during_an_outage_both_grow_and_afterwards_neither_does(start_server: StartServer, rigs: Rigs) -> None:
    server = start_server(persistent=True)
    done = threading.Event()
    held = rigs.holding()
    rig = rigs(url=server.url, fetch_idle_max_interval=0.05, concurrency=1).start()
    vitals = rig.worker.exchange.vitals
    rig.push("hold")
    until(lambda: held.started)
    server.kill()
    held.let_go()
    until(lambda: rig.worker.exchange.hold.finished)
    last = vitals._fetched, vitals._settled
    done.wait(0.1)
    assert (vitals._fetched, vitals._settled) == last
    server.start()
    until(lambda: vitals._fetched > last[0] and vitals._settled > last[1], 15.0)
