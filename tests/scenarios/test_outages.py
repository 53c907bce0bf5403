"""Redis away, restarted, frozen, full, forgetful: the worker goes on by itself."""

from __future__ import annotations

import signal
import time

import pytest
import redis

from cogworker_django import RedisRefused
from tests.scenarios import jobs
from tests.scenarios.checker import extra_runs
from tests.scenarios.conftest import StartRig
from tests.scenarios.load import Load, every
from tests.scenarios.process import WorkerProcess
from tests.scenarios.proxy import Proxy
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.scale import size
from tests.scenarios.trial import RETURN, Trial
from tests.scenarios.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(60, 1800))]


def test_quick_restarts_and_cut_clients_do_not_stop_the_work(lasting: Rig) -> None:
    """B065, B031: the scheduled job became due during an outage."""
    rig = lasting
    worker = rig.worker()
    due = jobs.nap.perform_in(1.0)
    assert due is not None
    rig.accepted.append(due)
    for _ in range(5):
        rig.away(rig.random.uniform(0.2, 0.6))
    rig.push(jobs.nap, [(0.001,)] * 500)
    took = rig.until_done(RETURN)
    with every(0.3, lambda: rig.redis.client_kill_filter(_type="normal", skipme=True)):
        for _ in range(500):
            rig.push_surely(jobs.nap, rig.random.uniform(0, 0.01))
            time.sleep(0.005)
    rig.until_done(RETURN)
    eventually(lambda: rig.redis.exists(f"{PREFIX}process:{worker.identity}"), 5, "the process to be shown")
    print(f"all done {took:.2f} s after five restarts")
    rig.verify()


def test_a_job_that_ends_while_redis_is_away_ran_once(lasting: Rig) -> None:
    """B048."""
    rig = lasting
    worker = rig.worker()
    jid = rig.push_one(jobs.nap, 0.3)
    rig.until_running(jid)
    rig.away(2.5)
    took = eventually(lambda: not rig.in_progress(worker), RETURN, "the job to be settled", rig.logs)
    print(f"settled {took:.2f} s after the return")
    rig.stop(worker)
    rig.worker()
    time.sleep(0.5)
    rig.verify()
    assert rig.ledger.starts(jid) == 1


def test_a_job_that_fails_while_redis_is_away_is_in_retry_once(lasting: Rig) -> None:
    """B053."""
    rig = lasting
    worker = rig.worker()
    jid = rig.push_one(jobs.fail_after, 0.5)
    rig.until_running(jid)
    rig.away(2.0)
    eventually(lambda: rig.filed("retry"), RETURN, "the job in Retry", rig.logs)
    (entry,) = rig.filed("retry")
    assert (entry["jid"], entry["error_class"], entry["retry_count"]) == (jid, "ValueError", 1)
    assert not rig.in_progress(worker)
    rig.verify(left=1)


def test_a_stop_while_redis_is_away_ends_in_time_and_loses_nothing(lasting: Rig) -> None:
    """P21: what could not be settled is recovered by others, and may run once more."""
    rig = lasting
    worker = rig.worker()
    jid = rig.push_one(jobs.nap, 0.2)
    rig.until_running(jid)
    rig.server.kill()
    time.sleep(0.5)
    began = time.monotonic()
    assert worker.terminate(rig.settings["SHUTDOWN_TIMEOUT"] + 5) == 0
    print(f"ended {time.monotonic() - began:.2f} s after TERM")
    worker.no_traceback()
    rig.server.start()
    rig.at_risk[jid] += 1
    rig.worker()
    rig.until_done(RETURN)
    rig.verify()


def test_a_stop_while_the_server_is_frozen_ends_in_time(start_rig: StartRig) -> None:
    """Nobody answers and nothing is closed: each call costs its whole time limit."""
    rig = start_rig(SHUTDOWN_TIMEOUT=2.0)
    worker = rig.worker()
    long = rig.push(jobs.nap, [(30.0,)] * 2)
    rig.until_running(*long)
    with rig.frozen_server():
        rig.at_risk.update(long)
        began = time.monotonic()
        worker.send(signal.SIGTERM)
        status = worker.exit_status(40)
        took = time.monotonic() - began
    print(f"ended {took:.1f} s after TERM, with {rig.settings['SHUTDOWN_TIMEOUT']} s for the jobs")
    assert status == 0
    worker.no_traceback()
    # About 9 s over the drain; the rest is for a machine that does more.
    assert took < 2.0 + 20


def test_one_outage_is_two_lines_in_the_log(lasting: Rig) -> None:
    rig = lasting
    worker = rig.worker()
    rig.away(2.0)
    rig.push_one(jobs.nap)
    rig.until_done(RETURN)
    eventually(lambda: "available again" in worker.text, RETURN, "the end of the outage")
    first, last = (line for line in worker.text.splitlines() if "available" in line)
    assert "Redis is not available" in first
    assert "Redis is available again" in last
    rig.verify()


def test_scripts_flushed_under_load_are_not_noticed(rig: Rig) -> None:
    """B067."""
    workers = [rig.worker() for _ in range(2)]
    with every(0.1, rig.redis.script_flush):
        for _ in range(300):
            rig.push_one(jobs.nap, rig.random.uniform(0, 0.01))
            soon = jobs.nap.perform_in(0.1)
            assert soon is not None
            rig.accepted.append(soon)
        rig.push(jobs.fail_after, [(0.0,)] * 20, retry=0)
        rig.until_done(RETURN)
    for worker in workers:
        assert "ERROR" not in worker.text
    rig.verify(left=20)
    assert not extra_runs(rig.ledger.runs())


def test_scripts_functions_and_connections_dropped_ten_times_a_second_are_no_jobs_affair(rig: Rig) -> None:
    """T15."""
    for _ in range(2):
        rig.worker()
    trial = Trial(rig, "scripts, functions and clients dropped each 100 ms")
    with redis.Redis.from_url(rig.server.url) as nemesis:

        def drop() -> None:
            nemesis.script_flush()
            nemesis.function_flush()
            nemesis.client_kill_filter(_type="normal", skipme=True)
            trial.rounds += 1

        with every(0.1, drop), Load(rig, size(800, 20_000), 400.0):
            pass
    trial.returned()
    trial.conclude()


def test_a_worker_that_was_frozen_beyond_the_threshold_changes_nothing(start_rig: StartRig) -> None:
    """T10, guarantee 4: its jobs run elsewhere, and its late verdicts are dropped."""
    rig = start_rig(ORPHAN_THRESHOLD=1.0)
    frozen = rig.worker()
    running = rig.push(jobs.nap, [(1.0,)] * 4)
    failing = rig.push_one(jobs.fail_after, 1.0)
    rig.until_running(*running, failing)
    frozen.freeze()
    rig.at_risk.update(rig.in_progress(frozen))
    rig.worker()
    rig.push(jobs.nap, [(0.0,)] * 50)
    eventually(lambda: (rig.count("processed"), rig.count("failed")) == (54, 1), 10, "the other to do all", rig.logs)
    frozen.thaw()
    rig.push(jobs.nap, [(0.01,)] * 200)
    frozen.said(f"jid={failing} is no longer this process's: its end changes nothing")
    rig.until_done(10)
    eventually(lambda: len(rig.redis.hkeys(f"{PREFIX}beats")) == 2, 5, "the thawed process to be back")
    (entry,) = rig.filed("retry")
    assert (entry["jid"], entry["retry_count"]) == (failing, 1)
    rig.verify(left=1)


def test_a_frozen_worker_does_not_run_what_it_had_fetched_ahead_and_others_have_run(rig: Rig, proxy: Proxy) -> None:
    """It is looked up first. Through a slow network it fetches far ahead, so that there is something to look up."""
    threads = 2
    proxy.delay = 0.02
    slow = rig.worker("-c", str(threads), REDIS=proxy.url)
    rig.push(jobs.nap, [(0.001,)] * 3000)
    eventually(lambda: len(rig.in_progress(slow)) > 20, 10, "jobs fetched ahead", rig.logs)
    time.sleep(rig.random.uniform(0.0, 0.2))
    slow.freeze()
    begun = {run.jid for run in rig.ledger.runs()}
    rig.at_risk.update(rig.in_progress(slow) & begun)
    ahead = len(rig.in_progress(slow) - begun)
    rig.worker()
    eventually(lambda: not rig.in_progress(slow), 10, "the recovery", rig.logs)
    slow.thaw()
    rig.push(jobs.nap, [(0.001,)] * 1000)
    rig.until_done(10)
    # A job that a thread had just taken begins right after the thaw: nothing is left to look up.
    rig.verify(spare=threads)
    print(f"{ahead} jobs were fetched ahead")


def test_a_full_server_is_drained_and_pushes_are_refused(start_rig: StartRig) -> None:
    """T11."""
    rig = start_rig(server_flags=("--maxmemory", "24mb", "--maxmemory-policy", "noeviction"))
    rig.worker()
    rig.push(jobs.nap, [(0.001,)] * 300)
    rig.push(jobs.fail_after, [(0.001,)] * 30, retry=0)
    rig.push(jobs.fail_after, [(0.001,)] * 30)
    with pytest.raises(RedisRefused, match="maxmemory"):
        for _ in range(100):
            jobs.swallow.set(queue="filled").perform_bulk([("x" * 100_000,)] * 10)
    rig.accepted += sorted(rig.snapshot().at("queue") - set(rig.accepted))
    late = rig.worker("-q", "default", "-q", "filled")
    rig.until_done(30)
    for worker in rig.workers:
        _only_told_that_the_server_is_full(worker)
    assert late.identity.encode() in rig.redis.hkeys(f"{PREFIX}beats")
    rig.verify(left=60)


@pytest.mark.parametrize("fetch", ["reliable", "basic"])
def test_a_worker_works_on_a_server_that_others_keep_full(start_rig: StartRig, fetch: str) -> None:
    """T11: from its boot to its stop there is never a byte to spare."""
    rig = start_rig(server_flags=("--maxmemory", "24mb", "--maxmemory-policy", "noeviction"), ORPHAN_THRESHOLD=1.0)
    rig.push(jobs.nap, [(0.01,)] * 100)
    rig.push(jobs.fail_after, [(0.0,)] * 20, retry=0)
    rig.push(jobs.fail_after, [(0.0,)] * 20)
    long = rig.push_one(jobs.nap, 20.0, queue="long")
    size = 1_000_000
    while size > 100:
        try:
            rig.redis.rpush("foreign", "x" * size)
        except redis.exceptions.OutOfMemoryError:
            size //= 2
    worker = rig.worker("-q", "default", "-q", "long", "--fetch", fetch)
    rig.until_running(long)
    eventually(lambda: rig.count("processed") == 100 and rig.count("failed") == 40, 15, "the jobs", rig.logs)
    time.sleep(2.5)
    assert rig.redis.exists(f"{PREFIX}process:{worker.identity}"), "it is no longer shown"
    assert rig.redis.exists(f"{PREFIX}work:{worker.identity}"), "what it runs is not shown"
    worker.send(signal.SIGINT)
    worker.said("stopping")
    worker.send(signal.SIGINT)
    assert worker.exit_status() == 0
    _only_told_that_the_server_is_full(worker)
    rig.verify(left=41)


def _only_told_that_the_server_is_full(worker: WorkerProcess) -> None:
    """Once a minute (here more often) a line that is not needed for the work, but for those who read the log."""
    told = [line for line in worker.text.splitlines() if " ERROR: " in line]
    assert all("listing queues failed" in line and "maxmemory" in line for line in told), told
