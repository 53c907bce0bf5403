"""One job from fetch to settle, on whole workers (reference, group P; acceptance, "exceptions in jobs")."""

from __future__ import annotations

import gc
import json
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import redis

from cogworker_django.definition import Job, job
from cogworker_django.worker.judge import Judge
from tests.stores import TOUCHY_ARGS, raw_job
from tests.worker.rigs import Rig, Rigs, foreign, messages, until


def failing(name: str = "fail", error: type[BaseException] = ValueError, text: str = "no") -> list[int]:
    """A registered job that fails each time; the list grows by one a run."""
    runs: list[int] = []

    def run(*args: Any) -> None:
        runs.append(1)
        raise error(text)

    run.__qualname__ = run.__name__ = name
    job(name=name)(run)
    return runs


def test_a_job_runs_with_what_was_pushed_and_is_counted(rigs: Rigs) -> None:
    """Reference P1, R41; case B060."""
    seen = rigs.recording()
    rig = rigs().start()
    rig.push("note", TOUCHY_ARGS)
    until(rig.settled)
    assert seen == [TOUCHY_ARGS]
    assert [type(value) for value in seen[0]] == [type(value) for value in TOUCHY_ARGS]
    assert rig.counts() == (1, 0)
    assert not rig.dead()
    assert not rig.retries()


def test_the_throughput_of_the_hour_counts_along(rigs: Rigs) -> None:
    """Reference P1."""
    rigs.recording()
    failing()
    rig = rigs().start()
    rig.push("note")
    rig.push("fail")
    until(lambda: rig.counts() == (1, 1))
    series = rig.store.statistics.series(2)
    assert (sum(hour.processed for hour in series), sum(hour.failed for hour in series)) == (1, 1)


def test_a_failure_without_retries_is_dead_with_one_attempt(rigs: Rigs) -> None:
    """Reference P2."""
    failing()
    rig = rigs().start()
    jid = rig.push("fail", retry=False)
    until(rig.dead)
    assert [(entry["jid"], entry["error_class"]) for entry in rig.dead()] == [(jid, "ValueError")]
    assert [attempt.outcome for attempt in rig.store.attempts.of(jid)] == ["dead"]
    assert rig.counts() == (0, 1)
    until(rig.settled)


def test_a_failure_with_retries_waits_for_its_retry_with_one_attempt(rigs: Rigs) -> None:
    """Reference P3."""
    failing()
    rig = rigs().start()
    jid = rig.push("fail")
    until(rig.retries)
    [entry] = rig.retries()
    assert (entry["jid"], entry["retry_count"], entry["error_message"]) == (jid, 1, "no")
    [attempt] = rig.store.attempts.of(jid)
    assert (attempt.outcome, attempt.host) == ("retrying", rig.identity)
    assert attempt.duration is not None
    assert "raise error(text)" in "".join(attempt.backtrace)
    assert "cogworker_django" not in "".join(attempt.backtrace)


def test_attempts_are_cleared_when_the_job_succeeds_at_last(rigs: Rigs) -> None:
    """Engine 3.9."""
    runs: list[int] = []

    class Second(Job, name="second"):
        def perform(self) -> None:
            runs.append(1)
            if len(runs) < 3:
                raise ValueError("not yet")

        def retry_in(self) -> int:
            return 0

    rig = rigs().start()
    jid = rig.push("second")
    until(lambda: rig.counts() == (1, 2))
    assert rig.store.attempts.of(jid) == []


def test_a_job_that_exits_is_a_failure_and_the_thread_takes_the_next(rigs: Rigs) -> None:
    """Case B082."""

    @job(name="exit")
    def leave() -> None:
        sys.exit(1)

    seen = rigs.recording()
    rig = rigs(concurrency=1).start()
    rig.push("exit")
    rig.push_many("note", [(n,) for n in range(20)])
    until(lambda: len(seen) == 20 and rig.settled())
    assert rig.retries()[0]["error_class"] == "SystemExit"
    assert rig.counts() == (20, 1)


def test_an_error_text_with_broken_bytes_is_filed_and_logged_on_one_line(
    rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B087."""
    failing(text="a\ud800b\0c\x1b[2J\r\n2026 INFO: forged")
    rig = rigs().start()
    rig.push("fail")
    until(rig.retries)
    json.loads(rig.raw("retry")[0])
    assert rig.retries()[0]["error_message"] == "a\ufffdb\0c\x1b[2J\r\n2026 INFO: forged"
    [line] = messages(caplog)
    assert "fail: fail jid=" in line
    assert not set(line) & set("\r\n\x1b\0")


def test_memory_does_not_grow_with_failing_jobs(rigs: Rigs, caplog: pytest.LogCaptureFixture) -> None:
    """Case B089: no traceback keeps the frames of a job alive; the garbage collector does not have to help."""

    class Load:
        """Something large in a frame."""

    alive: weakref.WeakSet[Load] = weakref.WeakSet()
    most: list[int] = []

    def nest(depth: int) -> None:
        load = Load()
        alive.add(load)
        if depth == 0:
            raise ValueError("no")
        nest(depth - 1)

    @job(name="nest")
    def run() -> None:
        nest(5)

    caplog.set_level(logging.CRITICAL, logger="cogworker")
    rig = rigs(concurrency=4).start()
    gc.disable()
    try:
        for _ in range(3):
            rig.push_many("nest", [()] * 1000, retry=False)
            until(rig.settled, 30)
            most.append(len(alive))
    finally:
        gc.enable()
    assert rig.counts() == (0, 3000)
    assert max(most) <= 4 * 6


def test_what_middleware_raises_fails_the_job_like_its_own_error(rigs: Rigs) -> None:
    rigs.recording()

    def refuse(job: Job, payload: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        raise PermissionError("not today")

    rig = rigs(middleware=[refuse]).start()
    rig.push("note")
    until(rig.retries)
    assert rig.retries()[0]["error_class"] == "PermissionError"


def test_a_payload_that_middleware_made_unfit_for_json_interrupts_the_failed_job(rigs: Rigs) -> None:
    """Reference P15: count 1, no poisoned field, due in about 30 s."""
    failing()

    def poison(job: Job, payload: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        payload["poison"] = object()
        return proceed()

    rig = rigs(middleware=[poison]).start()
    rig.push("fail")
    until(rig.retries)
    [entry] = rig.retries()
    due, _ = rig.store.jobsets.earliest()[::-1]
    assert due is not None
    assert (entry["interrupted_count"], "poison" in entry) == (1, False)
    assert due - rig.store.jobsets.now() == pytest.approx(30, abs=5)
    until(rig.settled)


@pytest.mark.parametrize("broken", ["no class", "no jid", "nothing left"])
def test_a_failed_job_whose_payload_middleware_took_apart_is_still_filed_once(broken: str, rigs: Rigs) -> None:
    """Reference P11: a bug in recording a failure never puts the job back on its queue."""
    runs = failing()

    def take_apart(job: Job, payload: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        try:
            return proceed()
        finally:
            if broken == "nothing left":
                payload.clear()
            else:
                del payload[broken.removeprefix("no ")]

    rig = rigs(middleware=[take_apart]).start()
    jid = rig.push("fail")
    until(lambda: rig.retries() and rig.settled())
    assert [entry["jid"] for entry in rig.retries()] == [jid]
    assert (len(runs), rig.queued(), rig.held()) == (1, 0, 0)


@pytest.mark.parametrize("field", ["class", "jid", "queue", "args"])
def test_a_payload_that_middleware_took_apart_is_filed_as_it_was_fetched_with_the_jobs_own_error(
    field: str, rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Without its queue it could never be retried, and without its name nobody would know what failed."""
    caplog.set_level(logging.INFO, logger="cogworker")
    failing(text="the real reason")
    rigs.recording()

    def take_apart(job: Job, payload: dict[str, Any], queue: str, proceed: Callable[[], Any]) -> Any:
        try:
            return proceed()
        finally:
            del payload[field]

    rig = rigs(middleware=[take_apart]).start()
    jid, good = rig.push("fail"), rig.push("note")
    until(lambda: rig.retries() and rig.settled())
    [entry] = rig.retries()
    shape = (entry["class"], entry["jid"], entry["queue"], entry["args"])
    assert (*shape, entry["error_message"]) == ("fail", jid, "default", [], "the real reason")
    until(lambda: any(line.startswith(f"done: note jid={good}") for line in messages(caplog, logging.INFO)))
    assert not messages(caplog, logging.ERROR)


def test_what_a_foreign_job_is_called_stays_on_its_line_of_the_log(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B087: whatever formatter the project has given the log."""
    caplog.set_level(logging.INFO, logger="cogworker")
    rig = rigs().start()
    jid = "jid\r\nwith a line" + "x" * 100_000
    redis_client.lpush("t:queue:default", raw_job(jid, **{"class": "a\nFAKE \x1b[31m"}))
    until(lambda: rig.retries() and rig.settled())
    lines = messages(caplog, logging.INFO)
    assert any(line.startswith("start: a\\nFAKE \\x1b[31m jid=jid\\r\\nwith") for line in lines)
    assert all(line.isprintable() and len(line) < 2_000 for line in lines)


@pytest.mark.parametrize("retry", [True, False])
def test_a_bug_after_a_failed_run_costs_no_second_run(retry: bool, rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference P11, P22."""
    runs = failing()

    def bug(*_: object) -> None:
        raise RuntimeError("recording blew up")

    monkeypatch.setattr(Judge, "failure", bug)
    rig = rigs().start()
    rig.push("fail", retry=retry)
    until(lambda: (rig.retries() if retry else rig.dead()) and rig.settled())
    assert len(runs) == 1


def test_a_bug_after_a_good_run_leaves_it_a_success(rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference P13, P23."""
    seen = rigs.recording()

    def bug(*_: object) -> None:
        raise RuntimeError("recording blew up")

    monkeypatch.setattr(Judge, "success", bug)
    rig = rigs().start()
    rig.push("note", 1)
    until(lambda: rig.counts() == (1, 0))
    assert seen == [1]
    until(rig.settled)


@pytest.mark.parametrize("key", ["t:stats:processed", "t:beats", "t:work:{identity}", "t:paused_queues", "t:schedule"])
def test_a_job_runs_and_is_settled_whatever_key_beside_it_is_damaged(key: str, rigs: Rigs) -> None:
    """Reference P13, P24; guarantee 5."""
    seen = rigs.recording()
    rig = rigs()
    rig.store.client.geoadd(key.format(identity=rig.identity), (1.0, 1.0, "of no use"))
    rig.start()
    rig.push("note", 1)
    until(lambda: seen and rig.settled())
    assert seen == [1]


def test_a_damaged_attempts_log_leaves_the_job_in_retry(rigs: Rigs) -> None:
    """Reference P14."""
    failing()
    rig = rigs()
    jid = rig.push("fail")
    rig.store.client.set(f"t:job_attempts:{jid}", "no list")
    rig.start()
    until(lambda: rig.retries() and rig.settled())
    assert rig.counts() == (0, 1)


def test_a_set_that_cannot_take_a_failure_keeps_it_in_progress_until_it_can(rigs: Rigs) -> None:
    """Reference P25, R26, P41: not run again meanwhile, and no hooks before it is filed."""
    runs = failing()
    told: list[Any] = []
    rig = rigs(handlers=[lambda payload: told.append(payload["jid"])], fetch_idle_max_interval=0.05)
    rig.start()
    until(rig.looked)
    rig.store.client.set("t:dead", "no set")
    jid = rig.push("fail", retry=False)
    until(lambda: rig.worker.exchange.hold.refused)
    assert (rig.held(), rig.queued(), told) == (1, 0, [])
    rig.store.client.delete("t:dead")
    until(lambda: rig.dead() and told)
    assert (len(runs), [entry["jid"] for entry in rig.dead()], told) == (1, [jid], [jid])
    until(rig.settled)


def test_two_identical_jobs_are_two_jobs(rigs: Rigs) -> None:
    """Reference P26: tokens tell identical payloads apart."""
    held = rigs.holding()
    rig = rigs(concurrency=2)
    raw = foreign("hold")
    rig.store.client.lpush("t:queue:default", raw, raw)
    rig.start()
    until(lambda: held.started == 2)
    assert rig.held() == 2
    held.let_go()
    until(rig.settled)
    assert rig.counts() == (2, 0)


# Death hooks


def test_hooks_run_once_after_the_job_is_in_dead_and_no_longer_in_progress(rigs: Rigs) -> None:
    """Reference P36, P46."""
    told: list[Any] = []
    rig: Rig

    class Doomed(Job, name="doomed"):
        def perform(self) -> None:
            raise ValueError("the end")

        def retries_exhausted(self, payload: dict[str, Any], exception: BaseException) -> None:
            told.append(("class", len(rig.dead()), rig.held(), str(exception)))

    def handler(payload: dict[str, Any], exception: BaseException) -> None:
        told.append(("handler", payload["error_class"], payload["retry_count"], str(exception)))

    rig = rigs(handlers=[handler]).start()
    rig.push("doomed", retry=False)
    until(lambda: len(told) >= 2)
    assert told == [("class", 1, 0, "the end"), ("handler", "ValueError", 1, "the end")]


def test_a_hook_that_exits_is_survived_and_called_once(rigs: Rigs) -> None:
    """Reference P47, P39."""
    failing()
    seen = rigs.recording()
    told: list[str] = []

    def leave(payload: dict[str, Any]) -> None:
        told.append(payload["jid"])
        sys.exit(1)

    rig = rigs(concurrency=1, handlers=[leave]).start()
    jid = rig.push("fail", retry=False)
    rig.push("note", 1)
    until(lambda: told and seen and rig.settled())
    assert told == [jid]
    assert len(rig.dead()) == 1


def test_a_vanished_class_dies_with_the_handlers_only(rigs: Rigs) -> None:
    """Reference P43."""
    told: list[str] = []
    rig = rigs(handlers=[lambda payload, error: told.append(type(error).__name__)]).start()
    rig.push("gone", retry=False)
    until(lambda: told)
    assert told == ["UnknownJob"]


def test_hooks_run_with_the_same_care_as_jobs(rigs: Rigs) -> None:
    """They are code of users, which may use the database."""
    failing()
    calls: list[str] = []
    rig = rigs(
        concurrency=1,
        handlers=[lambda: calls.append("hook")],
        before=lambda: calls.append("before"),
        after=lambda: calls.append("after"),
    ).start()
    rig.push("fail", retry=False)
    until(lambda: calls.count("after") == 2)
    assert calls == ["before", "after", "before", "hook", "after"]


# The thread


def test_an_error_of_the_thread_itself_is_logged_and_it_goes_on(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference P8, 11: threads never die."""
    seen = rigs.recording()
    rig = rigs(concurrency=1)
    troubles = [RuntimeError("a bug"), SystemExit(3)]
    take = rig.worker.processors[0]._handout.take

    def sometimes(gate: Any) -> Any:
        if troubles:
            raise troubles.pop()
        return take(gate)

    monkeypatch.setattr(rig.worker.processors[0]._handout, "take", sometimes)
    rig.start()
    rig.push("note", 1)
    until(lambda: seen)
    assert sum("met an error and goes on" in line for line in messages(caplog)) == 2


def test_jobs_run_on_the_workers_own_threads(rigs: Rigs) -> None:
    names: list[str] = []

    @job(name="name")
    def run() -> None:
        names.append(threading.current_thread().name)

    rig = rigs(concurrency=3).start()
    rig.push_many("name", [()] * 20)
    until(rig.settled)
    assert set(names) <= {"cogworker-1", "cogworker-2", "cogworker-3"}


def test_a_job_without_an_end_of_its_own_error_text_is_recorded_by_its_class(rigs: Rigs) -> None:
    """Reference P20."""

    class Loud(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    @job(name="loud")
    def run() -> None:
        raise Loud

    rig = rigs().start()
    rig.push("loud")
    until(rig.retries)
    assert rig.retries()[0]["error_message"] == "#<Loud>"


def test_what_runs_is_known_while_it_runs_and_not_after(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference P6."""
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    jid = rig.push("hold")
    until(lambda: held.started)
    assert rig.worker.work.busy == 1
    [running] = [processor.delivery for processor in rig.worker.processors if processor.delivery]
    assert json.loads(running.raw)["jid"] == jid
    assert redis_client.hgetall(f"t:inprogress:{rig.identity}") == {running.token.encode(): running.raw}
    held.let_go()
    until(rig.settled)
    assert rig.worker.work.busy == 0
