"""What surrounds a worker at work and must not bring it down: forks, broken pipes, lost data, damaged keys."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import cast

import psutil
import pytest

from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("way", ["return", "raise", "exit"])
def test_a_child_that_a_job_forks_is_no_second_worker(rig: Rig, way: str) -> None:
    """T22: however the child leaves `perform`, it settles nothing and fetches nothing."""
    worker = rig.worker("-c", "3")
    rig.push(jobs.fork, [(way,)] * 10)
    rig.push(jobs.nap, [(0.005,)] * 300)
    rig.until_done(15)
    rig.push(jobs.nap, [(0.005,)] * 300)
    rig.until_done(15)
    eventually(lambda: not psutil.Process(worker.pid).children(), 5, "the children to be gone")
    assert worker.terminate() == 0
    assert worker.text.count("came out of its job and ends here") == 10
    assert worker.text.count("ValueError: in the child") == (10 if way == "raise" else 0)
    rig.verify()
    assert {run.pid for run in rig.ledger.runs() if run.ended} == {worker.pid}
    assert not extra_runs(rig.ledger.runs())


@pytest.mark.parametrize("flags", [pytest.param((), id="one"), pytest.param(("--processes", "2"), id="swarm")])
def test_a_pool_of_processes_in_a_job_ends_when_it_is_told_to(rig: Rig, flags: tuple[str, ...]) -> None:
    """What a job forks hears signals as any program does: a pool ends its processes by TERM, and waits for them."""
    worker = rig.worker("-c", "2", *flags)
    rig.push(jobs.use_pool, [()] * 6)
    rig.until_done(15)
    assert rig.count("failed") == 0
    eventually(lambda: worker.text.count("done: use_pool") == 6, 5, "the ends in the log")
    assert worker.terminate() == 0
    rig.verify()


def test_a_chain_of_jobs_is_drained_to_its_end(rig: Rig) -> None:
    """Each job pushes the next: at no moment between two of them are all queues and hands empty."""
    rig.push_one(jobs.chain, 300)
    worker = rig.worker("--drain", wait=False)
    assert worker.exit_status(20) == 0
    assert rig.count("processed") == 301
    assert rig.queued() == 0


def test_a_server_that_has_forgotten_everything_is_worked_on(rig: Rig) -> None:
    """T7 without a file: jobs are lost with the data; the worker is there again, and what ran changes nothing."""
    worker = rig.worker()
    lost = rig.push(jobs.nap, [(1.5,)] * 3)
    rig.until_running(*lost)
    rig.away(0.3)
    rig.push(jobs.nap, [(0.001,)] * 200)
    eventually(lambda: rig.count("processed") == 200, 10, "the new jobs to be done", rig.logs)
    eventually(lambda: rig.redis.exists(f"{PREFIX}process:{worker.identity}"), 5, "the process to be shown")
    eventually(lambda: not any(map(rig.running, lost)), 5, "the old jobs to end")
    rig.stop()
    assert rig.count("processed") == 200
    assert rig.redis.exists(f"{PREFIX}retry", f"{PREFIX}dead", f"{PREFIX}beats") == 0


def test_a_reader_of_the_log_that_has_gone_stops_nothing(rig: Rig) -> None:
    told = rig.environment()
    with subprocess.Popen(
        [sys.executable, "-m", "django", "cogworker"],
        env=told,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as worker:
        assert worker.stdout is not None
        assert b" started: " in worker.stdout.readline()
        worker.stdout.close()
        rig.push(jobs.nap, [()] * 20)
        rig.until_done(10)
        worker.terminate()
        assert worker.wait(10) == 0
    rig.verify()


def test_a_queue_of_a_wrong_type_does_not_hold_up_the_others_or_fill_the_log(rig: Rig) -> None:
    """T16."""
    rig.redis.set(f"{PREFIX}queue:bad", "no list")
    worker = rig.worker("-q", "default", "-q", "bad")
    rig.push(jobs.nap, [(0.001,)] * 2000)
    rig.until_counted(2000, 15)
    rig.push(jobs.nap, [(0.001,)] * 100)
    rig.until_counted(2100, 5)
    rig.stop()
    errors = [line for line in worker.text.splitlines() if "ERROR" in line]
    assert errors
    assert len(errors) < 20, f"{len(errors)} lines, for example {errors[0]}"


def test_twenty_thousand_jobs_of_one_dead_process_come_back_in_order(start_rig: StartRig) -> None:
    """B059; that no call of it is long is tested with the store."""
    rig = start_rig(ORPHAN_THRESHOLD=1.0)
    number, dead = 20_000, "gone:1:abcdef"
    raws = [
        json.dumps({"class": "nap", "args": [], "jid": f"{index:024d}", "queue": "later", "created_at": 1.0})
        for index in range(number)
    ]
    pipe = rig.redis.pipeline(transaction=False)
    for index, raw in enumerate(raws):
        pipe.hset(f"{PREFIX}inprogress:{dead}", f"{index + 1}:later", raw)
    pipe.hset(f"{PREFIX}beats", dead, "1.0 5 5")
    pipe.execute()
    rig.worker()
    eventually(lambda: rig.queued("later") == number, 10, "the jobs on their queue", rig.logs)
    assert [raw.decode() for raw in cast(list[bytes], rig.redis.lrange(f"{PREFIX}queue:later", 0, -1))] == raws[::-1]
    rig.stop()
    assert rig.redis.exists(f"{PREFIX}inprogress:{dead}", f"{PREFIX}beats") == 0


def test_waiting_for_a_server_that_is_away_costs_nothing(rig: Rig) -> None:
    """With a job's end in memory that cannot be written: it is kept, and tried again without haste."""
    worker = rig.worker()
    jid = rig.push_one(jobs.nap, 0.3)
    rig.until_running(jid)
    rig.server.kill()
    process = psutil.Process(worker.pid)
    eventually(lambda: not rig.running(jid), 5, "the job to end")
    before = process.cpu_times()
    time.sleep(3.0)
    after = process.cpu_times()
    spent = after.user + after.system - before.user - before.system
    print(f"{spent / 3:.1%} of a core during an outage")
    assert spent < 0.3
