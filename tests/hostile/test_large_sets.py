"""T19: a million jobs in a queue, in the schedule and among the retries slow nothing down (case B059)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import redis

from cogworker_django.api.jobsets import DeadSet, JobSet, RetrySet, ScheduledSet
from cogworker_django.api.queue import Queue, QueueSet
from cogworker_django.api.stats import Stats
from cogworker_django.core.dispatch import Push
from cogworker_django.definition import job
from cogworker_django.embedded import EmbeddedServer
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.store import Store
from tests.slowlog import LIMIT, Slowlog, best, cost
from tests.stores import open_store, raw_job
from tests.trips import Traveller, verdict
from tests.worker.rigs import Rigs, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # filling takes ten seconds, and more on a busy machine

MANY, FEW, DEAD = 1_000_000, 2_000, 100_000
STEP = 50_000
LATER = 4_000_000_000  # epoch seconds
QUICK = 5_000  # microseconds that the server may be busy with a page or a number
TIMES, SLACK = 4, 2_000
"""By how much, and how many microseconds, a step may cost more among a million than among two thousand: a tree is
twice as deep then, and caches miss. What looked at everything would cost hundreds of times as much."""
JOB = raw_job("j" * 24, **{"class": "note"}, args=["some words that make it a job of the usual size"]).split(b"j" * 24)
FILL = """
local words = {}
for n = ARGV[2], ARGV[2] + ARGV[3] - 1 do
  local job = ARGV[4] .. string.format('%024d', n) .. ARGV[5]
  if ARGV[1] == 'ZADD' then words[#words + 1] = ARGV[6] + n end
  words[#words + 1] = job
  if #words >= 2000 or n == ARGV[2] + ARGV[3] - 1 then redis.call(ARGV[1], KEYS[1], unpack(words)) words = {} end
end
"""


class Place:
    """A server with so many jobs in its queue and in each set.

    Args:
        server: empty.
        number: of jobs in each.
    """

    def __init__(self, server: EmbeddedServer, number: int) -> None:
        self.url, self.number = server.url, number
        self.client = redis.Redis.from_url(server.url)
        self.store: Store = open_store(server.url, dead_max_jobs=DEAD)
        self.client.sadd("t:queues", "default")
        self._fill("LPUSH", "queue:default", number, 0)
        self._fill("ZADD", "schedule", number, LATER)
        self._fill("ZADD", "retry", number, LATER)
        self._fill("ZADD", "dead", min(number, DEAD), int(time.time()) - number)
        self.slowlog = Slowlog(self.client)

    def _fill(self, command: str, key: str, number: int, score: int) -> None:
        fill = self.client.register_script(FILL)
        for first in range(0, number, STEP):
            fill(keys=[f"t:{key}"], args=[command, first, min(STEP, number), *JOB, score])

    def close(self) -> None:
        self.store.client.close()
        self.client.close()


@pytest.fixture(scope="module")
def start(server_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Place]]:
    with ExitStack() as ends:

        def started(number: int) -> Place:
            server = EmbeddedServer(server_binary, tmp_path_factory.mktemp("server")).start()
            ends.callback(server.kill)
            place = Place(server, number)
            ends.callback(place.close)
            return place

        yield started


@pytest.fixture(scope="module")
def many(start: Callable[[int], Place]) -> Place:
    return start(MANY)


@pytest.fixture(scope="module")
def few(start: Callable[[int], Place]) -> Place:
    return start(FEW)


def cheapest(place: Place, step: Callable[[Place], object]) -> int:
    """What a step costs the server at best: what it is kept from its work for is no part of it."""
    return min(cost(place.client, lambda: step(place)) for _ in range(3))


def hardly_dearer(many: Place, few: Place, step: Callable[[Place], object]) -> None:
    """A step costs about the same however much there is, and none of its calls is long."""
    dear, cheap = cheapest(many, step), cheapest(few, step)
    print(f"{step.__name__}: {dear / 1000:.1f} ms among a million, {cheap / 1000:.1f} ms among two thousand")
    assert dear <= TIMES * cheap + SLACK


def poll(place: Place) -> None:
    """500 entries of each set have become due and are moved; then nothing is due."""
    for name in (SetName.SCHEDULE, SetName.RETRY):
        raws = [raw_job(f"{random.getrandbits(90):024x}", queue="due") for _ in range(500)]
        place.client.zadd(f"t:{name}", dict.fromkeys(raws, 0.0))
        assert place.store.graduation.due(name).moved == len(raws)
        assert place.store.graduation.due(name).found == 0
    place.store.jobsets.earliest()
    place.client.delete("t:queue:due")


def trips(place: Place) -> None:
    """50 trips that fetch ten jobs each, and file half of those before among the retries and half among the dead."""
    process, token = Traveller(place.store), 1
    for _ in range(50):
        landing = process.go(10)
        verdicts = [
            verdict(f"{token + n}:default", ["ZADD", f"t:{('retry', 'dead')[n % 2]}", f"{LATER + n}", raw])
            for n, raw in enumerate(raw.decode() for _, raws in landing.jobs for raw in raws)
        ]
        trim = place.store.jobsets.dead_trim_commands(time.time())
        verdicts[-1].beside.extend(trim)
        assert process.go(0, verdicts=verdicts).results == ["settled"] * 10
        token += 10


def push(place: Place) -> None:
    """Jobs one by one, for now and for later."""
    for number in range(50):
        raw = raw_job(f"{random.getrandbits(90):024x}")
        place.store.queues.push([Push({"queue": "default"}, raw, 3600.0 if number % 2 else None, None)])


def test_the_poll_costs_what_is_due_and_not_what_there_is(many: Place, few: Place) -> None:
    hardly_dearer(many, few, poll)


def test_fetching_settling_and_filing_cost_the_same_however_much_there_is(many: Place, few: Place) -> None:
    hardly_dearer(many, few, trips)


def test_a_push_costs_the_same_however_much_there_is(many: Place, few: Place) -> None:
    hardly_dearer(many, few, push)


def first_of(jobs: Iterable[object]) -> object:
    return next(iter(jobs))


def test_pages_and_numbers_are_read_at_once(many: Place) -> None:
    """By rank anywhere, and however the sets are looked at."""
    store = many.store
    queue = Queue("default", store)
    sets: list[JobSet] = [ScheduledSet(store), RetrySet(store), DeadSet(store)]
    looks: list[Callable[[], object]] = [lambda: Stats(store), lambda: list(QueueSet(store)), lambda: queue.latency]
    listings: list[Queue | JobSet] = [queue, *sets]
    for jobs in listings:
        looks += [partial(jobs.page, at, at + 49) for at in (0, jobs.size // 2, jobs.size - 50)]
        looks.append(partial(first_of, jobs))
    costs = [min(cost(many.client, look) for _ in range(3)) for look in looks]
    print(f"the dearest of {len(looks)} looks cost {max(costs) / 1000:.2f} ms")
    assert max(costs) < QUICK


def short(many: Place, action: Callable[[], object]) -> None:
    """Whatever an action takes in all, no single call of it is long."""

    def attempt() -> int:
        many.slowlog.reset()
        action()
        return many.slowlog.longest()

    longest = best(attempt)
    print(f"the longest call took {longest / 1000:.1f} ms")
    assert longest < LIMIT


def test_a_job_is_found_and_deleted_without_a_long_call(many: Place) -> None:
    """Far from where the server begins to look for it, although workers have taken those at the very end."""
    numbers = count(MANY // 10)

    def delete() -> None:
        jid = f"{next(numbers):024}"
        assert Queue("default", many.store).delete(jid)
        entry = ScheduledSet(many.store).find(jid)
        assert entry is not None and entry.delete()

    short(many, delete)


def test_a_search_in_vain_makes_no_long_call(many: Place) -> None:
    def search() -> None:
        assert not Queue("default", many.store).delete("unknown")
        assert RetrySet(many.store).find("unknown") is None

    short(many, search)


def test_a_whole_worker_makes_no_long_call(many: Place, rigs: Rigs) -> None:
    """With everything that it does at its boot and beside the jobs."""
    seen = rigs.recording()

    @job(name="fail")
    def fail() -> None:
        raise ValueError("it was bound to fail")

    def work() -> None:
        seen.clear()
        raws = [raw_job(f"{n:024x}", **{"class": "fail"}, retry=n % 2) for n in range(1_000)]
        many.client.rpush("t:queue:default", *raws)
        rig = rigs(url=many.url, concurrency=4, dead_max_jobs=DEAD, orphan_threshold=0.3)
        before, began = rig.counts(), time.monotonic()
        rig.start()
        until(lambda: len(seen) >= 10_000)
        print(f"{len(seen)} jobs and 1000 failures in {time.monotonic() - began:.2f} s")
        rig.stop()
        assert rig.counts()[1] - before[1] == 1_000

    short(many, work)


def test_twenty_thousand_jobs_of_a_dead_process_come_back_without_a_long_call(many: Place) -> None:
    """Although there are a million before them; `test_hazards` lets a worker do it."""
    raws = {f"{n}:back": raw_job(f"{n:024}") for n in range(1, 20_001)}

    def recover() -> int:
        many.client.delete("t:queue:back")
        many.client.hset("t:inprogress:gone:1:x", mapping=raws)  # type: ignore[arg-type]  # invariant in its values
        many.client.hset("t:beats", "gone:1:x", "1.0 20000 5")
        many.slowlog.reset()
        recovered = many.store.recovery.recover("gone:1:x")
        assert recovered is not None
        assert (recovered.moved, many.client.llen("t:queue:back")) == (20_000, 20_000)
        return many.slowlog.longest()

    longest = best(recover)
    print(f"the longest call took {longest / 1000:.1f} ms")
    assert longest < LIMIT
