"""Any sequence of what processes and people do to the store leaves each job in the one place where it must be.

A failed run tells its steps, shrunk to the fewest, and how to have them once more: all by the seed, or that one alone
(`@reproduce_failure`).
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.books import MOST
from tests.model.people_steps import PeopleSteps
from tests.model.process_steps import ProcessSteps
from tests.scenarios.scale import size
from tests.stores import open_store


class Steps(ProcessSteps, PeopleSteps):
    """All of them."""


@pytest.mark.slow
@pytest.mark.timeout(size(240, 10_800))
def test_whatever_is_done_in_whatever_order_each_job_is_in_one_place_and_the_counters_are_right(
    redis_url: str, redis_client: redis.Redis, seeded: random.Random
) -> None:
    store = open_store(redis_url, max_orphanings=MOST)
    machine: Any = type("Steps", (Steps,), {"store": store, "client": redis_client, "looks": itertools.count()})
    run_state_machine_as_test(
        seed(seeded.getrandbits(64))(machine),
        settings=settings(
            max_examples=size(200, 50_000),
            stateful_step_count=40,
            deadline=None,
            print_blob=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )
    print(f"{next(machine.looks)} times all places were compared")
    store.close()
