"""Two and three at the same jobs, in every order of their commands: one of them wins, and nothing is lost or doubled.

Each scene says what is there, what the actors do, and what must hold whoever was first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import redis

from cogworker_django.core.dispatch import Push
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.settlement import Settlement
from cogworker_django.store.settlements import Subject
from cogworker_django.store.store import Store
from cogworker_django.store.trips import Gathered, Landing, Trip, Trips
from cogworker_django.store.unsettled import filing_of
from cogworker_django.worker.buffer import Buffer
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.hold import Hold
from cogworker_django.worker.strays import Strays
from tests.model.interleaving import Conductor, interleavings
from tests.model.process_steps import ATTEMPT
from tests.scenarios.checker import Snapshot
from tests.scenarios.scale import size
from tests.stores import open_store, raw_job

Action = Callable[[Store], Any]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(120, 3600))]

DEPTH_OF_TWO, DEPTH_OF_THREE = size(8, 16), size(5, 8)
"""Commands that are put into every order."""
MOST = 2
"""Recoveries of one job before it is buried."""
COUNTED: Gathered = [(kind, ["INCRBY", f"t:stats:{kind}", "$n"]) for kind in ("processed", "failed")]
JOBS = ("1" * 24, "2" * 24)


@pytest.fixture
def stores(redis_url: str) -> Iterator[list[Store]]:
    opened = [open_store(redis_url, max_orphanings=MOST) for _ in range(3)]
    yield opened
    for store in opened:
        store.close()


@pytest.fixture
def play(stores: list[Store], redis_client: redis.Redis) -> Callable[..., Iterator[tuple[list[Any], dict[str, str]]]]:
    """All orders: what each actor got, and where each job is then."""

    def run(prepare: Callable[[redis.Redis], None], *actions: Action) -> Iterator[tuple[list[Any], dict[str, str]]]:
        def anew() -> None:
            redis_client.flushall()
            prepare(redis_client)

        depth = DEPTH_OF_TWO if len(actions) == 2 else DEPTH_OF_THREE
        orders = set()
        for played in interleavings(stores, actions, depth, anew):
            orders.add(tuple(played.order))
            yield [actor.result for actor in played.actors], _places(redis_client, played)
        print(f"{len(orders)} interleavings of {len(actions)}")
        assert len(orders) > 1

    return run


def _places(client: redis.Redis, played: Conductor) -> dict[str, str]:
    places = Snapshot.take(client, "t:").places
    assert all(len(each) == 1 for each in places.values()), (played.order, places)
    return {jid: each[0] for jid, each in places.items()}


def counted(client: redis.Redis, name: str) -> int:
    return int(client.get(f"t:stats:{name}") or 0)


def silent(client: redis.Redis, *jobs: str, orphanings: int = 0) -> None:
    """A process `p` holds jobs, and has not beaten for longer than the threshold: it died, or is frozen."""
    for number, jid in enumerate(jobs or JOBS, start=1):
        client.hset("t:inprogress:p", f"{number}:default", raw_job(jid))
        if orphanings:
            client.set(f"t:orphanings:{jid}", orphanings)
    client.hset("t:beats", "p", "1.000000 0 10")


def trips(store: Store) -> Trips:
    return Trips(store.gateway, "p", reliable=True, gathered=lambda now: COUNTED, lock_ttl=60.0)


def trip(store: Store, *, done: Sequence[str] = (), verdicts: Sequence[Settlement] = (), wanted: int = 0) -> Landing:
    picks = [("default", wanted)]
    asked = Trip(progress="0 10", done=done, verdicts=verdicts, wanted=wanted, waiting=wanted, first=10, picks=picks)
    return trips(store).exchange(asked, 0.0)


def settle(store: Store) -> None:
    """Both jobs have run."""
    trip(store, done=["1:default", "2:default"])


def fail(store: Store) -> int:
    """Both jobs have failed; how many failures were written."""
    failures = [
        store.settlements.retry(Subject(token=job.token, jid=jid, orphaned=True), job.raw, 60.0, ATTEMPT)
        for job, jid in zip(in_hand(), JOBS, strict=True)
    ]
    return list(trip(store, verdicts=failures).results).count("settled")


def recover(store: Store) -> int | None:
    """How many were moved; None when the process was alive."""
    recovered = store.recovery.recover("p")
    return None if recovered is None else recovered.moved


def recover_and_bury(store: Store) -> int:
    """How many this actor has buried, and would call death hooks for."""
    recovered = store.recovery.recover("p")
    found = store.recovery.condemned("p", recovered.condemned if recovered else ())
    return sum(store.recovery.bury("p", token, raw) for token, raw in found)


def in_hand() -> list[Delivery]:
    """What the process `p` knows of."""
    return [Delivery(number, "default", raw_job(jid), 0.0, False) for number, jid in enumerate(JOBS, start=1)]


def give_back(store: Store) -> None:
    trips(store).give_back(in_hand())


def stop(store: Store) -> None:
    trips(store).requeue_all((), frozenset())
    store.processes.forget("p")


def reconcile_and_settle(store: Store) -> None:
    """A process that comes back sees what is still its own, runs that, and settles it."""
    hold, buffer = Hold(), Buffer()
    jobs = in_hand()
    hold.add(jobs)
    buffer.renew(jobs, 0.0)
    Strays(trips(store), hold, buffer).reconcile()
    trip(store, done=[job.token for job in buffer.empty()])


def poll(store: Store) -> int:
    return store.graduation.due(SetName.SCHEDULE).moved


def file(store: Store) -> int:
    return sum(store.unsettled.file(record, filing_of(record), JOBS[0]) for record in store.unsettled.waiting())


Play = Callable[..., Iterator[tuple[list[Any], dict[str, str]]]]


@pytest.mark.parametrize("recoverers", [1, 2])
def test_a_late_finisher_and_who_recovers_its_jobs(play: Play, redis_client: redis.Redis, recoverers: int) -> None:
    for results, places in play(silent, settle, *[recover] * recoverers):
        moved = sum(result or 0 for result in results[1:])
        assert counted(redis_client, "processed") + moved == 2
        assert places == dict.fromkeys(places, "queue")
        assert len(places) == moved


@pytest.mark.parametrize("recoverers", [1, 2])
def test_a_late_failure_and_who_recovers_its_jobs(play: Play, redis_client: redis.Redis, recoverers: int) -> None:
    for [written, *recovered], places in play(silent, fail, *[recover] * recoverers):
        moved = sum(result or 0 for result in recovered)
        assert sorted(places.values()) == ["queue"] * moved + ["retry"] * written
        assert written + moved == 2
        assert counted(redis_client, "failed") == written


@pytest.mark.parametrize("actors", [2, 3])
def test_several_who_recover_the_same_process(play: Play, redis_client: redis.Redis, actors: int) -> None:
    for results, places in play(silent, *[recover] * actors):
        assert sum(results) == 2
        assert places == dict.fromkeys(JOBS, "queue")
        assert redis_client.mget([f"t:orphanings:{jid}" for jid in JOBS]) == [b"1", b"1"]
        assert not redis_client.exists("t:beats")


@pytest.mark.parametrize("actors", [2, 3])
def test_several_who_bury_the_same_jobs(play: Play, redis_client: redis.Redis, actors: int) -> None:
    for results, places in play(lambda client: silent(client, orphanings=MOST), *[recover_and_bury] * actors):
        assert sum(results) == 2
        assert places == dict.fromkeys(JOBS, "dead")
        assert counted(redis_client, "failed") == 2


def test_a_burial_and_the_process_that_comes_back(play: Play, redis_client: redis.Redis) -> None:
    for [buried, _], places in play(lambda client: silent(client, orphanings=MOST), recover_and_bury, settle):
        assert buried + counted(redis_client, "processed") == 2
        assert places == dict.fromkeys(places, "dead")
        assert len(places) == buried == counted(redis_client, "failed")


@pytest.mark.parametrize("leaving", [give_back, stop])
def test_who_gives_back_and_who_recovers(play: Play, redis_client: redis.Redis, leaving: Action) -> None:
    for _, places in play(silent, leaving, recover):
        assert places == dict.fromkeys(JOBS, "queue")
        assert not redis_client.exists("t:inprogress:p")


def test_who_reconciles_runs_only_what_is_still_its_own(play: Play, redis_client: redis.Redis) -> None:
    for _, places in play(silent, reconcile_and_settle, recover):
        assert counted(redis_client, "processed") + len(places) == 2
        assert set(places.values()) <= {"queue", "in progress"}


@pytest.mark.parametrize("actors", [2, 3])
def test_several_who_move_the_same_due_entries(play: Play, redis_client: redis.Redis, actors: int) -> None:
    def due(client: redis.Redis) -> None:
        client.zadd("t:schedule", {raw_job(jid): 1.0 for jid in JOBS} | {b"no job": 2.0})

    for results, places in play(due, *[poll] * actors):
        assert sum(results) == 2
        assert [places.pop(jid) for jid in JOBS] == ["queue"] * 2
        assert list(places.values()) == ["dead"]
        assert counted(redis_client, "failed") == 1


def test_one_entry_that_is_retried_deleted_and_killed_by_hand(play: Play, redis_client: redis.Redis) -> None:
    raw = raw_job(JOBS[0])
    actions: list[Action] = [
        lambda store: store.graduation.requeue(SetName.RETRY, [raw]) == ["moved"],
        lambda store: store.jobsets.remove(SetName.RETRY, [raw]) == 1,
        lambda store: store.jobsets.kill(SetName.RETRY, [raw]) == ["moved"],
    ]
    for results, places in play(lambda client: client.zadd("t:retry", {raw: 5.0}), *actions):
        assert sum(results) == 1
        assert list(places.values()) == [["queue"], [], ["dead"]][results.index(True)]


def test_two_who_fetch_from_one_queue(play: Play, redis_client: redis.Redis) -> None:
    def fetch(store: Store) -> list[bytes]:
        return [raw for _, raws in trip(store, wanted=1).jobs for raw in raws]

    def as_another(store: Store) -> list[bytes]:
        asked = Trip(progress="", done=(), verdicts=(), wanted=1, waiting=1, first=1, picks=[("default", 1)])
        landing = Trips(store.gateway, "q", reliable=True, gathered=lambda now: COUNTED, lock_ttl=60.0).exchange(
            asked, 0.0
        )
        return [raw for _, raws in landing.jobs for raw in raws]

    for results, places in play(lambda client: client.lpush("t:queue:default", raw_job(JOBS[0])), fetch, as_another):
        assert sum(len(result) for result in results) == 1
        assert places == {JOBS[0]: "in progress"}


@pytest.mark.parametrize("actors", [2, 3])
def test_several_who_file_what_was_handed_over(play: Play, redis_client: redis.Redis, actors: int) -> None:
    def handed_over(client: redis.Redis) -> None:
        for jid in JOBS:
            record = {"set": "retry", "score": 5.0, "payload": raw_job(jid).decode()}
            client.rpush("t:unsettled", json.dumps(record))

    for results, places in play(handed_over, *[file] * actors):
        assert sum(results) == 2
        assert places == dict.fromkeys(JOBS, "retry")


def test_two_who_move_the_same_damaged_key_away(play: Play, redis_client: redis.Redis) -> None:
    def move(store: Store) -> bool:
        return store.guard.quarantine("t:retry", "zset") is not None

    def damaged(client: redis.Redis) -> None:
        client.set("t:retry", "no set")

    for results, _ in play(damaged, move, move):
        assert sum(results) == 1
        assert len(redis_client.keys("t:quarantine:*")) == 1
        assert not redis_client.exists("t:retry")


def test_a_push_and_who_clears_the_queue(play: Play, redis_client: redis.Redis) -> None:
    """A queue that has jobs is listed, whoever was last."""

    def push(store: Store) -> None:
        store.queues.push([Push({"queue": "default"}, raw_job(JOBS[0]), None, None)])

    def clear(store: Store) -> int:
        return store.queue_reader.clear("default")

    for [_, cleared], places in play(lambda client: None, push, clear):
        assert len(places) + cleared == 1
        assert bool(redis_client.sismember("t:queues", "default")) == bool(places)


def test_a_beat_that_falls_between(play: Play, redis_client: redis.Redis) -> None:
    """Before the jobs are moved it keeps them all, be it in the middle of the recovery; after that, none."""

    def beat(store: Store) -> None:
        trip(store)

    seen = set()
    for [_, moved], places in play(silent, beat, recover):
        seen.add(moved)
        assert sorted(places) == list(JOBS)
        assert sum(place == "queue" for place in places.values()) == (moved or 0)
    assert seen == {None, 0, 2}
