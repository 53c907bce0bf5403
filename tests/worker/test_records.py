"""Status and history of jobs, through whole workers (reference 18 and 19, groups X and H)."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest
import redis

from cogworker_django import History, Status, Throughput
from cogworker_django.core.config import HistoryConfig, StatusConfig
from cogworker_django.core.errors import ProcessDied
from cogworker_django.current import current_job
from cogworker_django.definition import job
from cogworker_django.store.jobsets import SetName
from cogworker_django.worker import recorder
from tests.worker.rigs import Rig, Rigs, foreign, holds, until
from tests.worker.test_rescuer import IN_PROGRESS, left_behind, rescuer

BOTH: dict[str, Any] = {"status": StatusConfig(), "history": HistoryConfig()}


@pytest.fixture
def rig(rigs: Rigs) -> Rig:
    return rigs(**BOTH)


def status(rig: Rig, jid: str) -> dict[str, Any]:
    found = Status.get(jid, rig.store)
    assert found is not None
    return found


def runs(rig: Rig, **asked: Any) -> list[dict[str, Any]]:
    return History.page(store=rig.store, **asked)[0]


def ended(rig: Rig, number: int) -> None:
    until(lambda: rig.settled() and sum(rig.counts()) >= number)


# Status


def test_a_pushed_job_is_queued_for_a_while(rig: Rig, redis_client: redis.Redis) -> None:
    """Case X1: in the same step as the push, scheduled ones too."""
    jids = [rig.push("note"), rig.push("note", at=9e9), *rig.push_many("note", [(1,), (2,)])]
    for jid in jids:
        found = status(rig, jid)
        assert (found["status"], found["class"], found["queue"]) == ("queued", "note", "default")
        assert found["update_time"] == pytest.approx(time.time(), abs=5)
        assert 1_700_000 < redis_client.pttl(f"t:status:{jid}") <= 1_800_000


def test_of_an_unknown_job_nothing_is_known(rig: Rig, redis_client: redis.Redis) -> None:
    """Case X2; and of a damaged one neither."""
    redis_client.set("t:status:odd", "[1")
    for jid in ("unknown", "odd"):
        assert Status.status(jid, rig.store) is None
        assert Status.get(jid, rig.store) is None


def test_a_job_works_and_completes_and_its_result_is_kept(rigs: Rigs, rig: Rig) -> None:
    """Case X3: a job that has been running for a while is shown so without a word of its own."""
    gate = threading.Event()

    @job(name="slow")
    def slow() -> dict[str, Any]:
        gate.wait(20)
        return {"rows": [1, 2.5, None]}

    rig.start()
    jid = rig.push("slow")
    until(lambda: Status.status(jid, rig.store) == "working")
    gate.set()
    until(lambda: Status.status(jid, rig.store) == "complete")
    assert status(rig, jid)["result"] == {"rows": [1, 2.5, None]}


def test_a_short_job_is_followed_without_a_write_of_its_own(rigs: Rigs, rig: Rig, redis_client: redis.Redis) -> None:
    seen = rigs.recording()
    rig.start()
    until(rig.idle)
    redis_client.config_resetstat()
    jids = rig.push_many("note", [(n,) for n in range(100)])
    ended(rig, 100)
    assert len(seen) == 100
    stats: Any = redis_client.info("commandstats")
    # Queued and complete, and the worker's own presence.
    assert 200 <= stats["cmdstat_set"]["calls"] <= 205
    assert {Status.status(jid, rig.store) for jid in jids} == {"complete"}


def test_a_failure_is_retrying_and_then_failed_with_its_error(rig: Rig) -> None:
    """Case X4."""

    @job(name="fail")
    def fail() -> None:
        raise ValueError("no such luck")

    rig.start()
    jid = rig.push("fail", retry=1)
    until(lambda: Status.status(jid, rig.store) == "retrying")
    assert (status(rig, jid)["error_class"], status(rig, jid)["error_message"]) == ("ValueError", "no such luck")
    [entry] = rig.raw("retry")
    rig.store.jobsets.reschedule(SetName.RETRY, entry, at=1.0)
    until(lambda: Status.status(jid, rig.store) == "failed")
    assert status(rig, jid)["error_message"] == "no such luck"


@pytest.mark.parametrize("answer", ["kill", "discard"])
def test_a_job_that_its_hook_ends_has_failed(answer: str, rig: Rig) -> None:
    """Case X6."""

    @job(name="fail")
    def fail() -> None:
        raise ValueError("no")

    fail.retry_in(lambda: answer)
    rig.start()
    jid = rig.push("fail")
    ended(rig, 1)
    assert Status.status(jid, rig.store) == "failed"


def test_what_a_job_tells_about_itself_can_be_read_while_it_runs_and_afterwards(rig: Rig) -> None:
    """Case X5: the latest of each field, also from a function."""
    steps = threading.Semaphore(0)

    @job(name="telling")
    def telling() -> None:
        running = current_job()
        assert running is not None
        running.at(10, "begun")
        running.store(rows=1, name="é")
        steps.acquire(timeout=20)
        running.at(50, "half way")
        running.store(rows=2)
        steps.acquire(timeout=20)

    rig.start()
    jid = rig.push("telling")
    until(lambda: "rows" in status(rig, jid))
    first = status(rig, jid)
    assert (first["status"], first["pct"], first["message"], first["rows"]) == ("working", 10, "begun", 1)
    steps.release()
    until(lambda: status(rig, jid)["rows"] == 2)
    second = status(rig, jid)
    assert (second["pct"], second["message"], second["name"]) == (50, "half way", "é")
    steps.release()
    until(lambda: Status.status(jid, rig.store) == "complete")
    assert (status(rig, jid)["pct"], status(rig, jid)["rows"]) == (50, 2)


def test_telling_often_costs_few_trips(rig: Rig, redis_client: redis.Redis) -> None:
    @job(name="telling")
    def telling() -> None:
        running = current_job()
        assert running is not None
        for step in range(5_000):
            running.at(step / 50)

    rig.start()
    until(rig.idle)
    redis_client.config_resetstat()
    jid = rig.push("telling")
    ended(rig, 1)
    stats: Any = redis_client.info("commandstats")
    assert stats["cmdstat_set"]["calls"] < 20
    assert status(rig, jid)["pct"] == 4_999 / 50


def test_who_tells_something_after_the_end_is_not_heard(rig: Rig) -> None:
    """A newer state is never overwritten by an older one."""
    kept: list[Any] = []

    @job(name="telling")
    def telling() -> None:
        kept.append(current_job())
        kept[0].at(1)

    rig.start()
    jid = rig.push("telling")
    until(lambda: Status.status(jid, rig.store) == "complete")
    kept[0].at(99, "late")
    assert holds(lambda: status(rig, jid)["status"] == "complete", 0.3)
    assert status(rig, jid)["pct"] == 1
    assert rig.worker.exchange.reports.fresh == {}


def test_who_no_longer_owns_the_job_tells_nothing(rig: Rig, redis_client: redis.Redis) -> None:
    """Guarantee 4."""
    gate = threading.Event()

    @job(name="telling")
    def telling() -> None:
        gate.wait(20)
        running = current_job()
        assert running is not None
        running.at(50)

    rig.start()
    jid = rig.push("telling")
    until(lambda: Status.status(jid, rig.store) == "working")
    redis_client.delete(f"t:inprogress:{rig.identity}")
    redis_client.set(f"t:status:{jid}", '{"status":"complete"}')
    gate.set()
    until(lambda: not rig.worker.exchange.hold.jobs)
    assert status(rig, jid) == {"status": "complete"}
    assert runs(rig) == []


def test_what_was_told_on_a_trip_that_was_lost_is_told_by_the_next(rig: Rig) -> None:
    gate = threading.Event()

    @job(name="telling")
    def telling() -> None:
        running = current_job()
        assert running is not None
        rig.faults.away = True
        running.at(50)
        gate.wait(20)

    rig.start()
    jid = rig.push("telling")
    until(lambda: rig.faults.away)
    assert holds(lambda: True, 0.3)
    rig.faults.away = False
    until(lambda: status(rig, jid).get("pct") == 50)
    gate.set()
    ended(rig, 1)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (object(), "result: "),
        ({1: 2}, "result"),
        (float("nan"), "result: "),
        ("x" * recorder.LARGEST_RESULT, "over the limit of 65,536"),
    ],
)
def test_a_result_that_cannot_be_kept_is_said_to_be_omitted(result: object, reason: str, rig: Rig) -> None:
    @job(name="odd")
    def odd() -> object:
        return result

    rig.start()
    jid = rig.push("odd")
    ended(rig, 1)
    found = status(rig, jid)
    assert (found["status"], "result" in found) == ("complete", False)
    assert reason in found["result_omitted"]
    assert rig.counts() == (1, 0)


def test_none_is_no_result(rigs: Rigs, rig: Rig) -> None:
    rigs.recording()
    rig.start()
    jid = rig.push("note")
    ended(rig, 1)
    assert not {"result", "result_omitted"} & status(rig, jid).keys()


def test_a_job_that_killed_its_processes_has_failed(rigs: Rigs, redis_client: redis.Redis) -> None:
    rig = rigs(max_orphanings=1, **BOTH)
    raw = foreign("deadly", jid="d" * 24)
    redis_client.set(f"t:orphanings:{'d' * 24}", 9)
    left_behind(redis_client, raw)
    rescuer(rig).look()
    assert not redis_client.exists(IN_PROGRESS)
    found = status(rig, "d" * 24)
    assert (found["status"], found["error_class"], found["queue"]) == ("failed", ProcessDied.__name__, "default")


# History


def test_a_success_leaves_an_entry(rigs: Rigs, rig: Rig) -> None:
    """Case H1."""
    rigs.recording()
    rig.start()
    before = time.time()
    jid = rig.push("note", {"a": [1, "é"]})
    ended(rig, 1)
    [entry] = runs(rig)
    started, finished = entry.pop("started_at"), entry.pop("finished_at")
    assert before - 1 < started <= finished < time.time() + 1
    assert entry == {
        "jid": jid,
        "class": "note",
        "queue": "default",
        "status": "success",
        "host": rig.identity,
        "args": [{"a": [1, "é"]}],
        "kwargs": {},
    }


def test_each_failure_leaves_an_entry_and_the_job_is_dead_all_the_same(rig: Rig) -> None:
    """Case H2."""

    @job(name="fail")
    def fail() -> None:
        raise ValueError("no" * 10_000)

    rig.start()
    jid = rig.push("fail", retry=0)
    ended(rig, 1)
    [entry] = runs(rig, status="failed")
    assert (entry["jid"], entry["status"], entry["error_class"]) == (jid, "failed", "ValueError")
    assert len(entry["error_message"]) == recorder.MESSAGE_LIMIT
    assert any("in fail" in line for line in entry["backtrace"])
    assert [dead["jid"] for dead in rig.dead()] == [jid]


def filled(rigs: Rigs, **history: Any) -> Rig:
    """A worker that has run 0 to 9, of which every third has failed."""

    @job(name="mixed", retry=0)
    def mixed(number: int) -> None:
        if number % 3 == 0:
            raise ValueError("no")

    rig = rigs(concurrency=1, **BOTH | {"history": HistoryConfig(**history)}).start()
    rig.push_many("mixed", [(n,) for n in range(10)], retry=0)
    ended(rig, 10)
    return rig


def numbers(entries: list[dict[str, Any]]) -> list[int]:
    return [entry["args"][0] for entry in entries]


def test_pages_are_newest_first_and_by_status(rigs: Rigs) -> None:
    """Case H3, H4."""
    rig = filled(rigs)
    assert numbers(runs(rig)) == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert numbers(runs(rig, status="failed")) == [9, 6, 3, 0]
    assert numbers(runs(rig, status="success")) == [8, 7, 5, 4, 2, 1]
    entries, total = History.page(page=2, per_page=4, store=rig.store)
    assert (numbers(entries), total) == ([5, 4, 3, 2], 10)
    assert History.page(status="failed", page=3, per_page=2, store=rig.store) == ([], 4)


def test_the_runs_of_one_job_are_found_among_all(rigs: Rigs) -> None:
    rig = filled(rigs)
    [wanted] = [entry for entry in runs(rig) if entry["args"] == [3]]
    assert History.page(jid=wanted["jid"], store=rig.store) == ([wanted], 1)
    assert History.page(jid=wanted["jid"], status="success", store=rig.store) == ([], 0)
    assert History.page(jid=wanted["jid"], page=2, store=rig.store) == ([], 1)
    assert History.page(jid="unknown", store=rig.store) == ([], 0)


def test_so_many_are_kept_of_each_list(rigs: Rigs) -> None:
    """Case H5, H9: the counters of the day remain."""
    rig = filled(rigs, max_entries=3)
    assert numbers(runs(rig)) == [9, 8, 7]
    assert numbers(runs(rig, status="failed")) == [9, 6, 3]
    [today] = History.daily(store=rig.store)
    assert (today.success, today.failed) == (6, 4)


def test_runs_are_counted_for_their_day_in_utc(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Case H7, H8."""
    rig = filled(rigs, daily_stats_retention_days=7)
    redis_client.hset("t:history:daily:2001-01-01", "success", 5)
    [today] = History.daily(days=7, store=rig.store)
    assert today.day in {datetime.fromtimestamp(time.time() - ago, UTC).strftime("%Y-%m-%d") for ago in (0, 600)}
    assert 6 * 86_400 < redis_client.ttl(f"t:history:daily:{today.day}") <= 7 * 86_400


def test_throughput_counts_in_the_hour(rigs: Rigs) -> None:
    """Case V1, V2, V3, V4."""
    rig = filled(rigs)
    [bucket] = list(rig.store.client.scan_iter("t:throughput:*"))[:1]
    assert 86_400 < rig.store.client.ttl(bucket) <= 90_000
    series = Throughput.series(3, rig.store)
    assert len(series) == 3
    assert sum(hour.processed for hour in series[1:]) == 6
    assert sum(hour.failed for hour in series[1:]) == 4
    assert (series[0].processed, series[0].failed) == (0, 0)


@pytest.mark.parametrize(
    "asked",
    [{"status": "dead"}, {"status": "all"}, {"page": 0}, {"per_page": 0}, {"page": -1}],
)
def test_a_page_that_cannot_be_is_refused(asked: dict[str, Any], rig: Rig) -> None:
    with pytest.raises(ValueError, match=next(iter(asked))):
        History.page(store=rig.store, **asked)


def test_large_arguments_are_left_out(rigs: Rigs, rig: Rig) -> None:
    rigs.recording()
    rig.start()
    rig.push("note", "x" * recorder.LARGEST_ARGUMENTS)
    ended(rig, 1)
    [entry] = runs(rig)
    assert entry["args_omitted"] is True
    assert not {"args", "kwargs"} & entry.keys()


# What must not happen


def test_switched_off_nothing_is_written(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Contract 3, case H10: None switches each off."""
    rigs.recording()
    rig = rigs(status=None, history=None).start()
    jid = rig.push("note", 1)
    ended(rig, 1)
    assert [key for key in redis_client.keys("*") if b"status" in key or b"history" in key] == []
    assert Status.get(jid, rig.store) is None
    assert runs(rig) == []
    assert History.daily(store=rig.store) == []


@pytest.mark.parametrize("kept", ["status", "history"])
def test_each_can_be_kept_alone(kept: str, rigs: Rigs) -> None:
    rigs.recording()
    rig = rigs(**{**BOTH, "status": None, "history": None, kept: BOTH[kept]}).start()
    jid = rig.push("note", 1)
    ended(rig, 1)
    assert (Status.get(jid, rig.store) is not None) is (kept == "status")
    assert (len(runs(rig)) == 1) is (kept == "history")


def test_damaged_keys_change_nothing_about_the_jobs(rigs: Rigs, rig: Rig, redis_client: redis.Redis) -> None:
    """Guarantee 5."""
    seen = rigs.recording()
    for name in ("all", "success", "failed"):
        redis_client.set(f"t:history:{name}", "damaged")
    day = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%d")
    redis_client.set(f"t:history:daily:{day}", "damaged")
    rig.start()
    jid = rig.push("note", 1)
    ended(rig, 1)
    assert (seen, rig.counts()) == ([1], (1, 0))
    assert Status.status(jid, rig.store) == "complete"
    assert History.page(store=rig.store) == ([], 0)
    assert History.page(jid=jid, store=rig.store) == ([], 0)


def test_a_status_of_the_wrong_type_is_made_anew(rigs: Rigs, rig: Rig, redis_client: redis.Redis) -> None:
    rigs.recording()
    jid = rig.push("note", 1)
    redis_client.delete(f"t:status:{jid}")
    redis_client.rpush(f"t:status:{jid}", "damaged")
    rig.start()
    ended(rig, 1)
    assert Status.status(jid, rig.store) == "complete"


def test_without_an_in_progress_hash_runs_are_recorded_too(rigs: Rigs) -> None:
    rigs.recording()
    rig = rigs(reliable=False, **BOTH).start()
    jid = rig.push("note", 1)
    ended(rig, 1)
    assert Status.status(jid, rig.store) == "complete"
    assert len(runs(rig)) == 1
