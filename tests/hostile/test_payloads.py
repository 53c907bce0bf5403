"""T17: whatever lies where a job is expected, it is in dead once, its neighbours run, and every thread goes on."""

from __future__ import annotations

from random import Random

import pytest
import redis

from cogworker_django.core.payload import RAW_LIMIT
from tests.hostile.corpus import CORPUS, invented, wrong_fields
from tests.hostile.trial import PLACES, Trial
from tests.scenarios.scale import size
from tests.worker.rigs import Rigs

pytestmark = pytest.mark.slow

INVENTED = size(1_000, 20_000)
BATCH = 1_000
HUGE = size(8_000_000, 64_000_000)


def test_what_a_hand_can_leave_is_dealt_with_in_every_place(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B095."""
    trial = Trial(rigs, redis_client)
    trial.neighbours()
    for place in PLACES:
        trial.put(place, CORPUS)
    trial.go(caplog)


@pytest.mark.parametrize("place", ["queue", "retry", "in progress"])
def test_every_field_may_hold_anything(
    place: str, rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    trial = Trial(rigs, redis_client)
    trial.neighbours()
    trial.put(place, list(wrong_fields()))
    trial.go(caplog)


@pytest.mark.timeout(INVENTED / 20)
def test_what_nobody_would_think_of_is_dealt_with_in_every_place(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture, seeded: Random
) -> None:
    raws = invented(INVENTED, seeded)
    jobs = 0
    for first in range(0, len(raws), BATCH):
        redis_client.flushall()
        trial = Trial(rigs, redis_client)
        trial.neighbours()
        batch = raws[first : first + BATCH]
        for number, place in enumerate(PLACES):
            trial.put(place, batch[number :: len(PLACES)])
        trial.go(caplog)
        jobs += trial.runs
    print(f"{len(raws)} inputs, {jobs} of them jobs")


@pytest.mark.parametrize("place", ["schedule", "retry", "in progress"])
def test_a_huge_one_is_buried_and_cut(
    place: str, rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Spaces: 64 MB at the long size."""
    trial = Trial(rigs, redis_client)
    trial.neighbours()
    trial.put(place, [b" " * HUGE])
    trial.go(caplog, 45.0)
    assert trial.buried == {" " * RAW_LIMIT: 1}
    assert (redis_client.memory_usage("t:dead", samples=0) or 0) < 2 * RAW_LIMIT
