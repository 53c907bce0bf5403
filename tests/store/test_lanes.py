"""A queue whose jobs have priorities, on a real server: every step finds the lane, and none forgets one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from cogworker_django.core.dispatch import Push
from cogworker_django.core.lanes import lane_of
from cogworker_django.store.jobsets import SetName
from cogworker_django.store.store import Store
from cogworker_django.worker.delivery import Delivery
from tests.stores import raw_job
from tests.trips import Traveller

PRIORITIES = (0, 60, -60, 1, -1)
IN_ORDER = [60, 1, 0, -1, -60]
LANES = ["default|2", "default|1", "default", "default|-1", "default|-2"]


def job(priority: int, number: int = 0, queue: str = "default") -> bytes:
    """A job with a priority, which its id tells, too."""
    return raw_job(f"{number:020}{priority:04}", queue, django_task={"backend": "default", "priority": priority})


def push(store: Store, *raws: bytes, **due: Any) -> None:
    fields: dict[str, Any] = {"delay": None, "at": None, **due}
    store.queues.push([Push(json.loads(raw), raw, **fields) for raw in raws])


def fill(store: Store, *priorities: int) -> list[bytes]:
    """Push jobs; give them back in the order in which they must run."""
    raws = [job(priority, number) for number, priority in enumerate(priorities)]
    push(store, *raws)
    bands = [LANES.index(lane_of(json.loads(raw), "default")) for raw in raws]
    return [raw for _, raw in sorted(zip(bands, raws, strict=True), key=lambda pair: pair[0])]


def priorities(raws: list[bytes]) -> list[int]:
    return [json.loads(raw)["django_task"]["priority"] for raw in raws]


def lists(client: redis.Redis) -> dict[str, list[bytes]]:
    """What lies in each lane, the next one to run first."""
    found: Any = {lane: client.lrange(f"t:queue:{lane}", 0, -1)[::-1] for lane in LANES}
    return {lane: raws for lane, raws in found.items() if raws}


@pytest.fixture
def process(store: Store) -> Traveller:
    return Traveller(store)


def taken(process: Traveller, wanted: int = 1, *picks: Any) -> list[bytes]:
    return [raw for _, raw in process.fetch(wanted, *picks)]


# Pushing and fetching


def test_each_band_has_its_lane_and_the_queue_is_listed_once(store: Store, redis_client: redis.Redis) -> None:
    fill(store, *PRIORITIES)
    assert {lane: priorities(raws) for lane, raws in lists(redis_client).items()} == {
        "default|2": [60],
        "default|1": [1],
        "default": [0],
        "default|-1": [-1],
        "default|-2": [-60],
    }
    assert redis_client.smembers("t:queues") == {b"default"}
    assert redis_client.llen("t:bell:default") == 5
    assert redis_client.keys("t:bell:*") == [b"t:bell:default"]


@pytest.mark.parametrize("step", [1, 2, 5, 100])
def test_higher_bands_come_first_and_each_keeps_its_order(store: Store, process: Traveller, step: int) -> None:
    expected = fill(store, 0, 5, -100, 100, 0, 3, -1, 51, 5, -7, 0)
    got: list[bytes] = []
    while some := taken(process, step):
        got += some
    assert got == expected


@pytest.mark.parametrize("reliable", [True, False])
def test_a_fetch_takes_no_more_than_it_wants(store: Store, redis_client: redis.Redis, reliable: bool) -> None:
    expected = fill(store, *PRIORITIES)
    process = Traveller(store, reliable=reliable)
    assert taken(process, 3) == expected[:3]
    assert sum(map(len, lists(redis_client).values())) == 2
    landing = process.go(3)
    assert landing.dry
    assert [lane for lane, _ in landing.jobs] == ["default|-1", "default|-2"]


def test_a_queue_without_priorities_costs_one_pop_a_pick(
    store: Store, process: Traveller, redis_client: redis.Redis
) -> None:
    """And one question a trip, whatever the number of picks."""
    push(store, *(raw_job(f"{n:024}") for n in range(10)))
    redis_client.config_resetstat()
    assert len(taken(process, 6, ("default", 3), ("default", 3))) == 6
    stats: Any = redis_client.info("commandstats")
    assert stats["cmdstat_rpop"]["calls"] == 2
    # Of these one asks for orphans.
    assert stats["cmdstat_exists"]["calls"] == 2


def test_weights_hold_between_queues_and_priorities_within_one(store: Store, process: Traveller) -> None:
    push(store, job(100, 1, "low"), job(-100, 2, "high"), job(0, 3, "high"))
    assert priorities(taken(process, 2, ("high", 2), ("low", 2))) == [0, -100]


def test_a_queue_gives_no_more_than_its_share_from_all_lanes_together(store: Store, process: Traveller) -> None:
    push(store, job(60, 1, "high"), job(0, 2, "high"), job(-60, 3, "high"), job(0, 4, "low"))
    landing = process.go(3, ("high", 2), ("low", 1))
    assert [lane for lane, _ in landing.jobs] == ["high|2", "high", "low"]


@pytest.mark.parametrize("priority", PRIORITIES)
def test_a_single_lane_is_enough(store: Store, process: Traveller, priority: int) -> None:
    fill(store, priority)
    assert priorities(taken(process, 5)) == [priority]


def test_a_paused_queue_rests_in_all_its_lanes_and_resuming_rings_for_each(
    store: Store, process: Traveller, redis_client: redis.Redis
) -> None:
    fill(store, 60, -60)
    store.queue_reader.pause("default")
    assert taken(process, 5) == []
    redis_client.delete("t:bell:default")
    assert store.queue_reader.resume("default")
    assert redis_client.llen("t:bell:default") == 2
    assert priorities(taken(process, 5)) == [60, -60]


def test_a_damaged_lane_is_told_of_and_the_others_go_on(
    store: Store, process: Traveller, redis_client: redis.Redis
) -> None:
    fill(store, 0, -1)
    redis_client.set("t:queue:default|2", "damaged")
    landing = process.go(5)
    assert [priorities(list(raws)) for _, raws in landing.jobs] == [[0], [-1]]
    assert [error.split(": ")[0] for error in landing.errors] == ["default|2", "default|2"]
    assert store.guard.damaged(["default"]) == {"t:queue:default|2": "list"}


# Going back


def test_what_goes_back_goes_to_the_front_of_its_lane(
    store: Store, process: Traveller, redis_client: redis.Redis
) -> None:
    expected = fill(store, 5, 5, 0, 0, -5)
    landing = process.go(3)
    held = [(lane, raw) for lane, raws in landing.jobs for raw in raws]
    assert [lane for lane, _ in held] == ["default|1", "default|1", "default"]
    gone = [Delivery(number, lane, raw, 0.0, False) for number, (lane, raw) in enumerate(held, start=1)]
    assert [delivery.queue for delivery in gone] == ["default"] * 3
    assert process.trips.give_back(gone) == {"1:default|1", "2:default|1", "3:default"}
    assert redis_client.smembers("t:queues") == {b"default"}
    assert redis_client.keys("t:bell:*") == [b"t:bell:default"]
    assert taken(process, 5) == expected


def test_in_basic_mode_too(store: Store) -> None:
    expected = fill(store, 5, 0)
    process = Traveller(store, reliable=False)
    landing = process.go(2)
    held = [(lane, raw) for lane, raws in landing.jobs for raw in raws]
    process.trips.give_back([Delivery(n, lane, raw, 0.0, False) for n, (lane, raw) in enumerate(held, start=1)])
    assert taken(process, 2) == expected


def test_a_dead_processs_jobs_go_back_to_their_lanes(
    store: Store, process: Traveller, redis_client: redis.Redis
) -> None:
    expected = fill(store, 60, 0, -60)
    assert len(taken(process, 3)) == 3
    redis_client.hset("t:beats", "host:1:abc", "1000.0 3 3")
    found = store.recovery.recover("host:1:abc")
    assert found is not None
    assert found.moved == 3
    assert redis_client.get("t:careful:default") == b"3"
    assert redis_client.keys("t:careful:*") == [b"t:careful:default"]
    assert redis_client.keys("t:bell:*") == [b"t:bell:default"]
    other = Traveller(store, "host:2:other")
    assert [raw for _, raw in other.fetch(3, waiting=1)] == expected[:1]
    assert redis_client.get("t:careful:default") == b"2"


@pytest.mark.parametrize("name", list(SetName))
def test_what_waits_goes_to_its_lane(store: Store, redis_client: redis.Redis, name: SetName) -> None:
    """When it is due, and when somebody retries it by hand."""
    raws = [job(priority) for priority in PRIORITIES]
    redis_client.zadd(f"t:{name}", dict.fromkeys(raws, 1.0))
    if name is SetName.DEAD:
        assert store.graduation.requeue(name, raws) == ["moved"] * 5
    else:
        assert store.graduation.due(name).moved == 5
    assert [priorities(raws) for raws in lists(redis_client).values()] == [[each] for each in IN_ORDER]
    assert redis_client.smembers("t:queues") == {b"default"}
    assert redis_client.llen("t:bell:default") == 5


def test_the_job_of_an_entry_goes_to_its_lane(store: Store, redis_client: redis.Redis) -> None:
    raw = job(60)
    store.periodic.fire("entry", 5, Push(json.loads(raw), raw, None, None))
    assert list(lists(redis_client)) == ["default|2"]
    assert redis_client.smembers("t:queues") == {b"default"}


# Looking and steering


def test_the_size_of_a_queue_is_that_of_its_lanes(store: Store) -> None:
    fill(store, *PRIORITIES, 0)
    reader = store.queue_reader
    (state,) = reader.states(["default"])
    assert (reader.size("default"), state.size, store.statistics.summary().enqueued) == (6, 6, 6)
    assert store.bells(block=0.1).any_jobs(["default"])


def test_the_latency_of_a_queue_is_that_of_the_job_that_waits_longest(store: Store) -> None:
    now = store.jobsets.now()
    for priority, ago in ((60, 5), (-60, 500), (0, 50)):
        push(store, job(priority)[:-1] + f',"enqueued_at":{now - ago}}}'.encode())
    low, empty = store.queue_reader.states(["default", "none"])
    assert low.latency == pytest.approx(500, abs=5)
    assert empty.latency == 0


def test_a_page_ends_with_the_job_that_runs_next(store: Store) -> None:
    expected = fill(store, 0, 5, -100, 100, 0, 3, -1)[::-1]
    reader = store.queue_reader
    assert list(reader.walk("default")) == expected
    assert reader.page("default", 0, 100) == expected
    for start in range(8):
        for stop in range(start, 8):
            assert reader.page("default", start, stop) == expected[start : stop + 1], (start, stop)
    assert reader.page("default", 0, -1) == expected
    assert reader.page("default", -3, -2) == expected[-3:-1]
    assert reader.page("none", 0, -1) == []


@pytest.mark.parametrize("priority", PRIORITIES)
def test_a_job_is_found_and_deleted_in_its_lane(store: Store, priority: int) -> None:
    fill(store, *PRIORITIES)
    raw = next(raw for raw in store.queue_reader.walk("default") if priorities([raw]) == [priority])
    jid = json.loads(raw)["jid"]
    assert store.queue_reader.find("default", jid) == raw
    assert store.queue_reader.delete("default", jid)
    assert store.queue_reader.size("default") == 4
    assert not store.queue_reader.remove("default", raw)


def test_clearing_empties_all_lanes_and_takes_the_queue_off_the_list(store: Store, redis_client: redis.Redis) -> None:
    fill(store, *PRIORITIES, 0, 1)
    assert store.queue_reader.clear("default") == 7
    assert lists(redis_client) == {}
    assert not redis_client.exists("t:queues", "t:bell:default")


def test_a_queue_is_listed_while_one_of_its_lanes_holds_a_job(store: Store, redis_client: redis.Redis) -> None:
    """Pushed while the queue is cleared."""
    fill(store, 0)
    reader, keys = store.queue_reader, store.keys
    push(store, job(-60, 1))
    args = ("default", keys.prefix, 1, 1_000_000)
    assert store.gateway.run("clear_queue", (keys.queue("default"), keys.bell("default"), keys.queues), args) == 1
    assert reader.names() == ["default"]
    assert redis_client.llen("t:bell:default") == 2
    assert reader.clear("default") == 1
    assert reader.names() == []
