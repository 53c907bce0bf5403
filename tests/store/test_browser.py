from __future__ import annotations

import random

import pytest
import redis

from cogworker_django.store.browser import Mode, Seen, Slice, Spot, mark_of
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.store import Store
from tests.stores import raw_job

START = Spot(place=0)


def jid(number: int) -> str:
    return f"{number:024}"


def raws(page: Slice) -> list[bytes]:
    return [job.raw for job in page.jobs]


def fill_queue(client: redis.Redis, numbers: range) -> list[bytes]:
    """Push jobs; return them in the order in which they will run."""
    jobs = [raw_job(jid(number)) for number in numbers]
    client.lpush("t:queue:default", *jobs)
    return jobs


def test_a_queue_is_read_from_its_next_job_on(store: Store, redis_client: redis.Redis) -> None:
    jobs = fill_queue(redis_client, range(25))
    first = store.browser.of_queue("default", START, Mode.AFTER, number=10)
    assert (raws(first), first.size, first.more) == (jobs[:10], 25, 10)
    second = store.browser.of_queue("default", first.jobs[-1].spot, Mode.AFTER, number=10)
    assert (raws(second), second.met, second.jobs[0].spot.place) == (jobs[10:20], True, 10)
    last = store.browser.of_queue("default", second.jobs[-1].spot, Mode.AFTER, number=10)
    assert (raws(last), last.more) == (jobs[20:], None)
    back = store.browser.of_queue("default", last.jobs[0].spot, Mode.BEFORE, number=10)
    assert (raws(back), back.more) == (jobs[10:20], 20)
    assert raws(store.browser.of_queue("default", Spot(place=23), Mode.AFTER, number=10)) == jobs[23:]


def test_what_is_fetched_and_pushed_meanwhile_moves_no_page(store: Store, redis_client: redis.Redis) -> None:
    jobs = fill_queue(redis_client, range(30))
    first = store.browser.of_queue("default", START, Mode.AFTER, number=10)
    redis_client.rpop("t:queue:default", 4)
    fill_queue(redis_client, range(100, 140))
    second = store.browser.of_queue("default", first.jobs[-1].spot, Mode.AFTER, number=10)
    assert (raws(second), second.met) == (jobs[10:20], True)


def test_behind_a_job_that_has_run_the_rest_is_shown(store: Store, redis_client: redis.Redis) -> None:
    jobs = fill_queue(redis_client, range(30))
    spot = store.browser.of_queue("default", START, Mode.AFTER, number=10).jobs[-1].spot
    redis_client.rpop("t:queue:default", 15)
    second = store.browser.of_queue("default", spot, Mode.AFTER, number=10)
    assert (raws(second), second.met) == (jobs[15:25], False)


def test_a_job_is_found_again_where_it_is_now_and_not_when_it_is_gone(store: Store, redis_client: redis.Redis) -> None:
    jobs = fill_queue(redis_client, range(30))
    spot = Spot(place=9, mark=mark_of(jobs[9]))
    redis_client.rpop("t:queue:default", 4)
    [found] = store.browser.of_queue("default", spot, Mode.AT, number=1).jobs
    assert (found.raw, found.spot.place) == (jobs[9], 5)
    redis_client.lrem("t:queue:default", 1, jobs[9].decode())
    assert store.browser.of_queue("default", spot, Mode.AT, number=1).jobs == []


@pytest.mark.parametrize(("name", "key"), [(SetName.RETRY, "retry"), (SetName.DEAD, "dead")])
def test_every_entry_that_stays_comes_once_whatever_happens_meanwhile(
    store: Store, redis_client: redis.Redis, name: SetName, key: str
) -> None:
    chance = random.Random(7)
    stay = {raw_job(jid(number)): float(chance.randrange(40)) for number in range(120)}
    go = {raw_job(jid(number)): float(chance.randrange(40)) for number in range(200, 260)}
    redis_client.zadd(f"t:{key}", stay | go)
    seen: list[Seen] = []
    page = store.browser.of_set(name, START, Mode.AFTER, number=7)
    new = 1_000
    while page.jobs:
        seen += page.jobs
        for raw in chance.sample(sorted(go), 3) if len(go) > 3 else []:
            redis_client.zrem(f"t:{key}", raw)
            del go[raw]
        redis_client.zadd(f"t:{key}", {raw_job(jid(new)): float(chance.randrange(40))})
        new += 1
        page = store.browser.of_set(name, page.jobs[-1].spot, Mode.AFTER, number=7)
    shown = [job.raw for job in seen]
    assert len(shown) == len(set(shown))
    assert set(stay) <= set(shown)
    scores = [job.spot.score for job in seen]
    assert scores == sorted(scores, reverse=key == "dead")


def test_a_page_before_an_entry_ends_with_it(store: Store, redis_client: redis.Redis) -> None:
    entries = [raw_job(jid(number)) for number in range(30)]
    redis_client.zadd("t:schedule", dict.fromkeys(entries, 5.5))
    page = store.browser.of_set(SetName.SCHEDULE, Spot(place=20), Mode.AFTER, number=5)
    assert raws(page) == entries[20:25]
    back = store.browser.of_set(SetName.SCHEDULE, page.jobs[0].spot, Mode.BEFORE, number=15)
    assert (raws(back), back.more, back.met) == (entries[5:20], 20, True)
    assert store.browser.of_set(SetName.SCHEDULE, back.jobs[0].spot, Mode.AT, number=1).jobs[0].raw == entries[5]


def test_a_search_looks_at_so_many_and_tells_where_to_go_on(store: Store, redis_client: redis.Redis) -> None:
    entries = {raw_job(jid(number), args=["Needle" if number % 50 == 0 else "hay"]): number for number in range(500)}
    redis_client.zadd("t:dead", entries)
    found = store.browser.of_set(SetName.DEAD, START, Mode.AFTER, number=10, text="nEEdle", look=220)
    assert ([int(job.spot.score) for job in found.jobs], found.more) == ([450, 400, 350, 300], 220)
    rest = store.browser.of_set(SetName.DEAD, Spot(place=220), Mode.AFTER, number=2, text="needle", look=500)
    assert ([int(job.spot.score) for job in rest.jobs], rest.more) == ([250, 200], 300)
    fill_queue(redis_client, range(10))
    by_id = store.browser.of_queue("default", START, Mode.AFTER, number=10, text=jid(7), look=500)
    assert ([job.spot.place for job in by_id.jobs], by_id.more) == ([7], None)


def test_large_jobs_make_short_pages(store: Store, redis_client: redis.Redis) -> None:
    redis_client.zadd("t:dead", {raw_job(jid(number), args=["x" * 1_500_000]): number for number in range(6)})
    page = store.browser.of_set(SetName.DEAD, START, Mode.AFTER, number=50)
    assert (len(page.jobs), page.more) == (3, 3)


def test_empty_places_have_no_pages(store: Store, redis_client: redis.Redis) -> None:
    assert store.browser.of_set(SetName.DEAD, START, Mode.AFTER, number=5) == Slice(
        jobs=[], size=0, more=None, met=False
    )
    spot = Spot(place=3, mark="0" * 12, score=float("inf"))
    assert store.browser.of_set(SetName.RETRY, spot, Mode.BEFORE, number=5).jobs == []
    assert store.browser.of_queue("none", spot, Mode.BEFORE, number=5).jobs == []
    assert redis_client.keys() == []


def test_a_page_goes_through_all_lanes_of_a_queue_in_their_order(store: Store, redis_client: redis.Redis) -> None:
    """Jobs of a higher priority run first, so they come first here too."""
    jobs = []
    for lane, numbers in (("|2", range(3)), ("|1", range(10, 13)), ("", range(20, 25)), ("|-2", range(30, 34))):
        raws_of_lane = [raw_job(jid(number)) for number in numbers]
        redis_client.lpush(f"t:queue:default{lane}", *raws_of_lane)
        jobs += raws_of_lane
    found: list[bytes] = []
    spot, mode = START, Mode.AFTER
    while page := store.browser.of_queue("default", spot, mode, number=4).jobs:
        found += [job.raw for job in page]
        spot = page[-1].spot
    assert found == jobs
    back = store.browser.of_queue("default", spot, Mode.BEFORE, number=10)
    assert raws(back) == jobs[4:14]
    assert raws(store.browser.of_queue("default", spot, Mode.AT, number=1)) == jobs[-1:]
    _, lists = store.browser.tops(5, ["default", "other"])
    assert [job.raw for job in lists["default"]] == jobs[:5]
    assert lists["other"] == []
