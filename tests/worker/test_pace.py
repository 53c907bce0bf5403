from __future__ import annotations

import pytest

from cogworker_django.worker.pace import BYTES_PER_TRIP, MOST_AHEAD, Pace


def paced(threads: int, job: float, trip: float) -> Pace:
    """A pace that has seen many jobs and trips of these times, in seconds."""
    pace = Pace(threads)
    for _ in range(400):
        pace.job(job)
        pace.trip(trip)
    return pace


def test_short_jobs_are_fetched_ahead_as_many_as_end_during_a_trip() -> None:
    pace = paced(10, job=0.001, trip=0.001)
    assert pace.ahead == pytest.approx(10, abs=1)
    assert pace.wanted(waiting=1, buffered=0) == 1 + 2 * pace.ahead


def test_nothing_is_fetched_ahead_for_long_jobs() -> None:
    """A busy process never sits on work that an idle one could do."""
    pace = paced(10, job=1.0, trip=0.001)
    assert pace.ahead == 0
    assert pace.wanted(waiting=3, buffered=0) == 3
    assert pace.wanted(waiting=0, buffered=0) == 0


def test_what_is_there_already_is_not_fetched_again() -> None:
    pace = paced(10, job=1.0, trip=0.001)
    assert pace.wanted(waiting=3, buffered=2) == 1
    assert pace.wanted(waiting=3, buffered=9) == 0


def test_one_trip_fetches_no_more_than_its_most_however_short_the_jobs() -> None:
    pace = paced(50, job=0.0, trip=0.1)
    assert pace.ahead == MOST_AHEAD
    assert pace.wanted(waiting=50, buffered=0) == MOST_AHEAD


def test_a_slower_redis_has_more_fetched_ahead() -> None:
    assert paced(10, job=0.001, trip=0.004).ahead > paced(10, job=0.001, trip=0.001).ahead


def test_it_follows_when_the_jobs_turn_long() -> None:
    pace = paced(10, job=0.0001, trip=0.001)
    assert pace.ahead > 0
    for _ in range(400):
        pace.job(2.0)
        pace.trip(0.001)
    assert pace.ahead == 0
    assert pace.slow


@pytest.mark.parametrize(("job", "slow"), [(0.00005, False), (0.01, True)])
def test_slow_jobs_are_each_worth_waking_a_thread_for(job: float, slow: bool) -> None:
    assert paced(2, job=job, trip=0.001).slow is slow


def test_large_jobs_are_fetched_a_few_at_a_time() -> None:
    pace = Pace(10)
    pace.trip(0.01)
    assert pace.wanted(10, 0) > 50
    pace.fetched(2, 2 * BYTES_PER_TRIP)
    assert pace.wanted(10, 0) == 1
    for _ in range(100):
        pace.fetched(10, 10 * 200)
    assert pace.wanted(10, 0) > 50
