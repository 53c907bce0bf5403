"""Networks that cut, swallow, delay and damage what they carry."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.scenarios import jobs
from tests.scenarios.garble import garbled
from tests.scenarios.load import Load, every
from tests.scenarios.proxy import CHUNK, Proxy
from tests.scenarios.rig import Rig
from tests.scenarios.scale import size
from tests.scenarios.trial import RETURN, Trial
from tests.scenarios.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(60, 1800))]

CUTS: dict[str, Callable[[Proxy], None]] = {
    "before the request": Proxy.cut_before_request,
    "after the request": Proxy.cut_after_request,
    "in the reply": Proxy.cut_in_reply,
}
RATE = 400.0
"""Jobs a second, which two workers manage easily: what a fault has held up is caught up with."""
BACKLOG = 200
"""Jobs that wait, so that a worker has always something to do."""


def strike(rig: Rig, proxy: Proxy, arm: Callable[[], None], times: int) -> None:
    """Arm the proxy again and again, at random moments, each time once the strike before has met something."""
    for number in range(proxy.struck + 1, proxy.struck + times + 1):
        time.sleep(rig.random.uniform(0.01, 0.1))
        arm()
        eventually(partial(lambda number: proxy.struck >= number, number), RETURN, "something to be struck", rig.logs)


@pytest.mark.parametrize("moment", CUTS)
def test_connections_that_are_cut_lose_and_repeat_no_job(rig: Rig, proxy: Proxy, moment: str) -> None:
    """B062, T12: what a lost reply told of is found in the process's hash, and what is there is never settled twice."""
    rounds, cuts = size(3, 34), 5
    for _ in range(2):
        rig.worker(wait=False, REDIS=proxy.url)
    trial = Trial(rig, f"connection cut {moment}")
    with Load(rig, size(600, 5000), RATE):
        for _ in range(rounds):
            strike(rig, proxy, partial(CUTS[moment], proxy), cuts)
            trial.returned()
    trial.conclude()


def test_connections_that_are_all_cut_ten_times_a_second_lose_and_repeat_no_job(rig: Rig, proxy: Proxy) -> None:
    for _ in range(2):
        rig.worker(wait=False, REDIS=proxy.url)
    trial = Trial(rig, "all connections cut each 100 ms")
    with Load(rig, size(800, 10_000), RATE), every(0.1, proxy.cut):
        time.sleep(size(2, 20))
    trial.returned()
    trial.conclude()


def slow(proxy: Proxy) -> None:
    """Everything takes 200 ms, each way."""
    proxy.delay = 0.2


def narrow(proxy: Proxy) -> None:
    """64 kB a second."""
    proxy.rate, proxy.crumb = 64_000.0, 1024


def dribbling(proxy: Proxy) -> None:
    """A few bytes at a time, so that every reply comes in pieces."""
    proxy.rate, proxy.crumb = 2000.0, 3


def healed(proxy: Proxy) -> None:
    """As it should be, with all that was held up."""
    proxy.delay, proxy.rate, proxy.crumb = 0.0, 0.0, CHUNK
    proxy.pass_on()


POOR: dict[str, tuple[Callable[[Proxy], None], float]] = {
    "black hole": (Proxy.black_hole, 6.0),
    "slow": (slow, 1.5),
    "narrow": (narrow, 1.5),
    "dribbling": (dribbling, 1.5),
}
"""What makes a network poor, and for how long: a black hole longer than a call waits for its reply."""


@pytest.mark.parametrize("network", POOR)
def test_a_poor_network_changes_only_the_pace(rig: Rig, proxy: Proxy, network: str) -> None:
    """T13: no reply or a late one, and no error either; afterwards work goes on at its old pace."""
    make_poor, seconds = POOR[network]
    rig.worker(REDIS=proxy.url)
    trial = Trial(rig, f"network {network}")

    def top_up() -> None:
        if rig.queued() < BACKLOG:
            rig.push(jobs.nap, [(0.02,)] * BACKLOG)

    top_up()
    with every(0.2, top_up):
        time.sleep(0.5)
        before = pace(rig)
        for _ in range(size(1, 10)):
            make_poor(proxy)
            time.sleep(seconds)
            healed(proxy)
            trial.back.append(eventually(lambda: pace(rig) >= 0.9 * before, RETURN, "the old pace", rig.logs))
            trial.rounds += 1
    trial.conclude()


def pace(rig: Rig) -> float:
    """Jobs that end in a second, measured over half of one."""
    ended, began = rig.ledger.ends(), time.monotonic()
    time.sleep(0.5)
    return (rig.ledger.ends() - ended) / (time.monotonic() - began)


def test_damaged_replies_are_believed_by_nobody(rig: Rig, proxy: Proxy) -> None:
    """T14: the connection is dropped, as whatever comes over it from then on may belong to another question."""
    rounds, hits = size(4, 40), 5
    for _ in range(2):
        rig.worker(wait=False, REDIS=proxy.url)
    trial = Trial(rig, "damaged reply")
    spoil = garbled(rig.random)
    with Load(rig, size(600, 2000), RATE):
        for _ in range(rounds):
            strike(rig, proxy, partial(proxy.corrupt_reply, spoil), hits)
            trial.returned()
    trial.conclude()
