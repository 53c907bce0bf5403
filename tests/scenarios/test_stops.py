"""Signals: a clean stop loses nothing, repeats nothing, and ends in time."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

BOTH_MODES = pytest.mark.parametrize("fetch", ["reliable", "basic"])


def queue_of(rig: Rig, queue: str = "default") -> list[str]:
    """The jids on a queue, the next to run first."""
    raws = rig.redis.lrange(f"{PREFIX}queue:{queue}", 0, -1)
    return [json.loads(raw)["jid"] for raw in reversed(raws)]


@BOTH_MODES
def test_jobs_that_run_at_a_term_finish(rig: Rig, fetch: str) -> None:
    worker = rig.worker("--fetch", fetch)
    short = rig.push(jobs.nap, [(0.4,)] * 5)
    rig.until_running(*short)
    waiting = rig.push(jobs.nap, [(0.4,)] * 5)
    assert worker.terminate(5) == 0
    assert {run.jid for run in rig.ledger.runs() if run.ended} == set(short)
    assert queue_of(rig) == waiting
    rig.verify(left=len(waiting))


@BOTH_MODES
def test_jobs_that_outlast_the_stop_are_back_in_front_of_their_queue(start_rig: StartRig, fetch: str) -> None:
    """R49."""
    rig = start_rig(SHUTDOWN_TIMEOUT=0.5)
    worker = rig.worker("-c", "3", "--fetch", fetch)
    long = rig.push(jobs.nap, [(30,)] * 3)
    rig.until_running(*long)
    behind = rig.push(jobs.nap, [(0,)] * 3)
    began = time.monotonic()
    assert worker.terminate() == 0
    assert time.monotonic() - began < 0.5 + 5
    assert queue_of(rig) == [*long, *behind]
    rig.verify(left=6)


def test_a_second_int_stops_now(rig: Rig) -> None:
    worker = rig.worker()
    jid = rig.push_one(jobs.nap, 30)
    rig.until_running(jid)
    worker.send(signal.SIGINT)
    worker.said("stopping")
    time.sleep(0.3)
    assert not worker.has_ended
    began = time.monotonic()
    worker.send(signal.SIGINT)
    assert worker.exit_status() == 0
    assert time.monotonic() - began < 2
    assert queue_of(rig) == [jid]
    rig.verify(left=1)


def test_tstp_ends_fetching_and_lets_jobs_finish(rig: Rig, tmp_path: Path) -> None:
    worker = rig.worker()
    gate = tmp_path / "gate"
    first = rig.push_one(jobs.wait_for, str(gate))
    rig.until_running(first)
    worker.send(signal.SIGTSTP)
    worker.said("no more jobs are fetched")
    second = rig.push_one(jobs.nap)
    gate.touch()
    eventually(lambda: rig.count("processed") == 1, 5, "the first job to be settled", rig.logs)
    time.sleep(1.5)
    assert queue_of(rig) == [second]
    assert not worker.has_ended
    rig.verify(left=1)


def test_ttin_writes_stacks_and_jobs_and_work_goes_on(rig: Rig) -> None:
    worker = rig.worker()
    jid = rig.push_one(jobs.nap, 3.0)
    rig.until_running(jid)
    worker.send(signal.SIGTTIN)
    worker.said(f"runs jid={jid}")
    worker.said("time.sleep(seconds)")
    worker.said("cogworker-heartbeat")
    rig.push(jobs.nap, [()] * 10)
    rig.until_done(10)
    rig.verify()


def test_a_term_at_boot_while_redis_is_away_ends_at_once(rig: Rig) -> None:
    rig.server.kill()
    worker = rig.worker(wait=False)
    worker.said("Redis is not available")
    time.sleep(1.5)
    began = time.monotonic()
    assert worker.terminate() == 0
    assert time.monotonic() - began < 1
    assert worker.text.count("Redis is not available") == 1
    assert "stopped before Redis was there" in worker.text
    worker.no_traceback()


def test_a_term_before_anything_is_loaded_ends_the_process(rig: Rig) -> None:
    """At any moment of the boot: by the default of the signal or by ours, but always."""
    for delay in (0.0, 0.1, 0.2, 0.3, 0.4, 0.6):
        worker = rig.worker(wait=False)
        time.sleep(delay)
        assert worker.terminate(5) in (0, -signal.SIGTERM)
    rig.verify()


def test_commands_from_outside_quiet_resume_and_end_the_real_process(rig: Rig) -> None:
    """E1, E2."""
    worker = rig.worker()
    signals = f"{PREFIX}signals:{worker.identity}"
    rig.redis.rpush(signals, "quiet")
    worker.said("no more jobs are fetched", 3)
    jid = rig.push_one(jobs.nap)
    time.sleep(0.5)
    assert queue_of(rig) == [jid]
    rig.redis.rpush(signals, "resume")
    rig.until_done(3)
    rig.redis.rpush(signals, "nonsense", "stop")
    began = time.monotonic()
    assert worker.exit_status() == 0
    assert time.monotonic() - began < 3
    assert "unknown command 'nonsense' is ignored" in worker.text
    rig.verify()
    assert rig.redis.exists(f"{PREFIX}process:{worker.identity}") == 0


def test_drain_ends_when_queues_and_due_jobs_are_done(rig: Rig) -> None:
    rig.push(jobs.nap, [(0.01,)] * 200)
    rig.push(jobs.nap, [(0.01,)] * 20, queue="other")
    soon = jobs.nap.perform_in(0.3, 0.0)
    assert soon is not None
    rig.accepted.append(soon)
    worker = rig.worker("--drain", "-q", "default", "-q", "other", wait=False)
    assert worker.exit_status(15) == 0
    worker.no_traceback()
    rig.stop()
    assert rig.queued() == rig.queued("other") == 0
    later = len(rig.filed("schedule"))
    rig.verify(left=later)


def test_a_log_file_takes_the_log_instead_of_the_output(rig: Rig, tmp_path: Path) -> None:
    log = tmp_path / "work.log"
    worker = rig.worker("-L", str(log), wait=False)
    eventually(lambda: log.exists() and " started: " in log.read_text(), 10, "the log file")
    jid = rig.push_one(jobs.nap)
    rig.until_done(5)
    assert worker.terminate() == 0
    assert f"done: nap jid={jid}" in log.read_text()
    assert worker.text == ""
    rig.verify()
