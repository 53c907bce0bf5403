"""What a run costs the server while the history grows and when it is full: a million runs."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from cogworker_django.core.config import HistoryConfig, StatusConfig
from cogworker_django.store.record import Record
from cogworker_django.store.settlement import Settlement
from tests.stores import open_store
from tests.trips import IN_PROGRESS, Traveller

RUNS, CHUNKS, A_TRIP = 1_000_000, 10, 200
ENTRY = '{"jid":"%024d","class":"reports.jobs.ReportJob","queue":"default","status":"success","args":[7]}'


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "status",
    [
        pytest.param(None, id="history"),
        # Soon as many live as ever will: what more keys cost the server is no matter of the history's length.
        pytest.param(StatusConfig(expiration=1.0), id="history and status"),
    ],
)
def test_a_million_runs_cost_the_same_from_the_first_to_the_last(
    redis_url: str, redis_client: redis.Redis, status: StatusConfig | None
) -> None:
    store = open_store(redis_url, status=status, history=HistoryConfig())
    process = Traveller(store)
    costs = []
    for chunk in range(CHUNKS):
        redis_client.config_resetstat()
        for trip in range(RUNS // CHUNKS // A_TRIP):
            first = (chunk * RUNS // CHUNKS) + trip * A_TRIP
            numbers = range(first + 1, first + A_TRIP + 1)
            redis_client.hset(IN_PROGRESS, mapping=dict.fromkeys((f"{number}:q" for number in numbers), "job"))
            verdicts = [settlement(number) for number in numbers]
            assert set(process.go(0, verdicts=verdicts).results) == {"settled"}
        stats: Any = redis_client.info("commandstats")
        costs.append(stats["cmdstat_evalsha"]["usec"] / (RUNS // CHUNKS))
    assert redis_client.llen("t:history:all") == store.history.max_entries
    print("µs of the server for each run:", ", ".join(f"{cost:.2f}" for cost in costs))
    # The best of each half: what the machine does beside only adds to it.
    assert min(costs[CHUNKS // 2 :]) < 1.2 * min(costs[1 : CHUNKS // 2])
    store.client.close()


def settlement(number: int) -> Settlement:
    jid = f"{number:024}"
    record = Record(jid, '{"status":"complete","class":"reports.jobs.ReportJob"}', ENTRY % number)
    return Settlement(token=f"{number}:q", jid=jid, kind="processed", record=record)
