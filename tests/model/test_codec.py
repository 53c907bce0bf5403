"""A job's arguments stay the same to the byte, whatever the job goes through."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from cogworker_django.core import codec
from cogworker_django.core.arguments import MAX_DEPTH, MAX_INTEGER_BITS
from cogworker_django.core.dispatch import Push
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job
from cogworker_django.store.graduation import Graduation
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.settlement import Settlement
from cogworker_django.store.store import Store
from cogworker_django.store.trips import number_of, queue_in
from cogworker_django.worker.cancellations import Cancellations
from cogworker_django.worker.deaths import DeathHooks
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.filer import Filer
from cogworker_django.worker.judge import Judge
from cogworker_django.worker.recorder import Recorder, Run
from cogworker_django.worker.rescuer import Rescuer
from tests.scenarios.scale import size
from tests.stores import TOUCHY_ARGS, jids, members, raw_job
from tests.trips import ME, Traveller

PAST = 1_000_000.0
LARGEST = 2**MAX_INTEGER_BITS - 1
ERROR = ValueError("\0 é \U0001f4a5 \ud800 </script>")
RUN = Run(began=5.0, seconds=1.5)


def within(value: Any, levels: int) -> Any:
    """A value in so many lists and dicts."""
    for level in range(levels):
        value = [value] if level % 2 else {"\u2028": value}
    return value


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-LARGEST, LARGEST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(
        [*TOUCHY_ARGS, -0.0, 5e-324, 2**64, -(2**63) - 1, LARGEST, "\ud7ff\ue000\uffff\U0010ffff", "\x7f"]
    )
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
) | st.builds(within, scalars, st.integers(1, MAX_DEPTH - 2))


class Journey:
    """One job on its way: each leg begins and ends with the job in hand.

    Args:
        store: Redis.
        client: to the same server.
    """

    def __init__(self, store: Store, client: redis.Redis) -> None:
        nobody: Registry[type[Job]] = Registry()
        deaths = DeathHooks(nobody, ())
        self._store = store
        self._client = client
        self._traveller = Traveller(store)
        self._graduation = Graduation(store.jobsets)
        self._judge = Judge(
            store.settlements, nobody, deaths, Recorder(store.statuses, history=True, host=ME), ME, Cancellations()
        )
        self._filer = Filer(store.unsettled, deaths, print)
        self._rescuer = Rescuer(
            store, "other", deaths, grace=1, threshold=1, may_judge=bool, max_orphanings=1, hand_over=print
        )
        self.delivery = Delivery(0, "", b"", 0.0, False)

    def begin(self, raw: bytes, *, later: bool) -> None:
        """It is pushed, at once or for a time that has come."""
        self._store.queues.push([Push(codec.decode(raw), raw, None, PAST if later else None)])
        if later:
            self._graduation.due(SetName.SCHEDULE)
        self._fetch()

    def end(self) -> None:
        """It has run."""
        done = self._judge.success(self.delivery, codec.decode(self.delivery.raw), None, RUN)
        self._traveller.go(**({"verdicts": [done]} if done else {"done": [self.delivery.token]}))

    def fail(self) -> None:
        """It fails and is due again."""
        self._settle(self._failure())
        self._make_due()

    def fail_and_be_moved_by_hand(self) -> None:
        """It fails, and somebody retries it at once."""
        self._settle(self._failure())
        self._take_by_hand(SetName.RETRY)

    def be_interrupted(self) -> None:
        """Its failure could not be written as it should; too often, and it is dead."""
        self._settle(self._judge.interrupt(self.delivery, ERROR, RUN))
        self._make_due()

    def be_killed(self) -> None:
        """It fails, somebody moves it to dead, and somebody takes it from there."""
        self._settle(self._failure())
        assert self._store.jobsets.kill(SetName.RETRY, members(self._client, "retry")) == ["moved"]
        self._take_by_hand(SetName.DEAD)

    def die(self) -> None:
        """It fails for good, and somebody reschedules it."""
        self._settle(self._judge.interrupt(self.delivery, ERROR, RUN, killed=True))
        self._make_due()

    def be_handed_over(self) -> None:
        """Its failure is filed by another process."""
        self._settle(self._store.settlements.handed_over(self._failure()))
        self._filer.look()
        self._make_due()

    def be_given_back(self) -> None:
        """Its process does not get to it."""
        assert self._traveller.trips.give_back([self.delivery]) == {self.delivery.token}
        self._fetch()

    def be_stopped(self) -> None:
        """Its process ends while it runs."""
        assert self._traveller.trips.requeue_all((), frozenset()) == 1
        self._fetch()

    def be_orphaned(self) -> None:
        """Its process is killed; once too often, and it is buried, and somebody takes it from dead."""
        self._client.hset("t:beats", ME, "1.000000 999999 1")
        self._rescuer.look()
        if members(self._client, "dead"):
            self._take_by_hand(SetName.DEAD)
        else:
            self._fetch()

    def be_buried(self) -> None:
        """Its process is killed as those before were."""
        [jid] = jids([self.delivery.raw])
        self._client.set(f"t:orphanings:{jid}", 99)
        self.be_orphaned()

    def _failure(self) -> Settlement:
        return self._judge.failure(self.delivery, codec.decode(self.delivery.raw), ERROR, RUN)

    def _settle(self, verdict: Settlement) -> None:
        assert self._traveller.go(verdicts=[verdict]).results == ["settled"]

    def _make_due(self) -> None:
        """From dead it goes to retry with the new time."""
        [(name, entry)] = [
            (name, entry) for name in (SetName.RETRY, SetName.DEAD) for entry in members(self._client, name)
        ]
        assert self._store.jobsets.reschedule(name, entry, at=PAST)
        assert self._graduation.due(SetName.RETRY).moved == 1
        self._fetch()

    def _take_by_hand(self, name: SetName) -> None:
        assert self._graduation.requeue(name, members(self._client, name)) == ["moved"]
        self._fetch()

    def _fetch(self) -> None:
        [(queue, raw)] = self._traveller.fetch()
        [token] = self._traveller.trips.held()
        assert (queue, [raw]) == (queue_in(token), self._traveller.trips.raw([token]))
        self.delivery = Delivery(number_of(token), queue, raw, time.monotonic(), True)


Leg = Callable[[Journey], None]
LEGS: list[Leg] = [
    Journey.fail,
    Journey.fail_and_be_moved_by_hand,
    Journey.be_interrupted,
    Journey.be_killed,
    Journey.die,
    Journey.be_handed_over,
    Journey.be_given_back,
    Journey.be_stopped,
    Journey.be_orphaned,
    Journey.be_buried,
]


@pytest.mark.slow
@pytest.mark.timeout(size(120, 3600))
def test_arguments_stay_the_same_to_the_byte_on_every_way(
    store: Store, redis_client: redis.Redis, seeded: random.Random
) -> None:
    """Case B060."""
    legs = [0]

    @seed(seeded.getrandbits(64))
    @settings(max_examples=size(200, 10_000), deadline=None, database=None, print_blob=True)
    @given(
        args=st.lists(values, max_size=4),
        kwargs=st.dictionaries(st.text(), values, max_size=3),
        later=st.booleans(),
        ways=st.lists(st.sampled_from(LEGS), min_size=1, max_size=6),
    )
    def travel(args: list[Any], kwargs: dict[str, Any], later: bool, ways: list[Leg]) -> None:
        redis_client.flushall()
        journey = Journey(store, redis_client)
        written = b'"args":%b,"kwargs":%b' % (codec.encode(args), codec.encode(kwargs))
        raw = raw_job().replace(b'"args":[]', written)
        journey.begin(raw, later=later)
        for way in ways:
            way(journey)
            legs[0] += 1
            assert written in journey.delivery.raw
        journey.end()
        assert not redis_client.keys("t:inprogress:*")

    travel()
    print(f"{legs[0]} ways")
