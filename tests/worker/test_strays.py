"""Comparing the two sides, on a real server."""

from __future__ import annotations

import time

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.store import Store
from cogworker_django.store.trips import Trips
from cogworker_django.worker.buffer import Buffer
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.hold import Hold
from cogworker_django.worker.strays import Strays
from tests.trips import IN_PROGRESS, Traveller
from tests.worker.rigs import messages


class Sides:
    """What the process holds and what the server holds for it."""

    def __init__(self, store: Store, client: redis.Redis) -> None:
        self.hold, self.buffer = Hold(), Buffer()
        self.strays = Strays(Traveller(store).trips, self.hold, self.buffer)
        self._client = client

    def here(self, *numbers: int, running: tuple[int, ...] = ()) -> None:
        deliveries = [Delivery(number, "q", b"raw", time.monotonic() - 50, False) for number in (*numbers, *running)]
        self.hold.add(deliveries)
        self.buffer.extend(deliveries[: len(numbers)])

    def there(self, *numbers: int) -> None:
        self._client.hset(IN_PROGRESS, mapping={f"{number}:q": f"job {number}" for number in numbers})

    def buffered(self) -> list[int]:
        return [delivery.number for delivery in self.buffer._jobs]


@pytest.fixture
def sides(store: Store, redis_client: redis.Redis) -> Sides:
    return Sides(store, redis_client)


def test_what_both_sides_know_stays_and_counts_as_just_looked_up(sides: Sides) -> None:
    sides.here(1, 2)
    sides.there(1, 2)
    sides.strays.reconcile()
    assert sides.buffered() == [1, 2]
    assert sides.buffer.oldest_waited(time.monotonic()) < 5


def test_what_arrived_without_our_hearing_of_it_is_taken_up_in_order(
    sides: Sides, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B062; reference R14: seen once under the exchange's lock is enough, where upstream must see it twice."""
    sides.here(1)
    sides.there(1, 11, 9, 10)
    sides.strays.reconcile()
    assert sides.buffered() == [1, 9, 10, 11]
    assert [delivery.raw for delivery in sides.buffer.empty()][1:] == [b"job 9", b"job 10", b"job 11"]
    assert messages(caplog) == ["3 jobs had been fetched without this process hearing of it; they run now"]


def test_a_stray_may_have_an_orphan_counter(sides: Sides) -> None:
    sides.there(1)
    sides.strays.reconcile()
    assert sides.buffer.pop().orphaned


def test_what_others_have_taken_over_is_dropped(sides: Sides) -> None:
    sides.here(1, 2, 3)
    sides.there(1, 3)
    sides.strays.reconcile()
    assert sides.buffered() == [1, 3]
    assert sorted(sides.hold.jobs) == ["1:q", "3:q"]


def test_a_running_job_is_no_stray_and_is_left_alone(sides: Sides) -> None:
    """Reference R15: what the process holds in memory decides, also where the server has lost it."""
    sides.here(running=(1, 2))
    sides.there(1)
    sides.strays.reconcile()
    assert sides.buffered() == []
    assert sorted(sides.hold.jobs) == ["1:q", "2:q"]


def test_what_has_run_and_waits_to_be_settled_is_no_stray(sides: Sides) -> None:
    """Reference R16: a pending acknowledgement is finished, not run again."""
    sides.here(running=(1,))
    sides.hold.done.append("1:q")
    sides.there(1)
    sides.strays.reconcile()
    assert sides.buffered() == []


def test_an_overwritten_hash_is_written_anew_with_everything_in_hand(
    sides: Sides, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is lost, and what has run can be settled."""
    sides.here(1, 2, running=(3,))
    redis_client.rpush(IN_PROGRESS, "no hash")
    sides.strays.reconcile()
    assert redis_client.hgetall(IN_PROGRESS) == dict.fromkeys((b"1:q", b"2:q", b"3:q"), b"raw")
    assert sides.buffered() == [1, 2]
    assert messages(caplog) == ["this process's in-progress hash was a list: it was moved away and written anew"]
    sides.strays.reconcile()
    assert sides.buffered() == [1, 2]


def test_nothing_changes_when_the_server_cannot_be_asked(
    sides: Sides, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sides.here(1, 2)

    def refused(trips: Trips) -> set[str]:
        raise RedisRefused("Redis refused a command: NOPERM")

    monkeypatch.setattr(Trips, "held", refused)
    with pytest.raises(RedisRefused):
        sides.strays.reconcile()
    assert sides.buffered() == [1, 2]
    assert not messages(caplog)
