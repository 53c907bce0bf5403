"""A worker as a whole: its start, its quiet times, its end, and what it costs while it has nothing to do."""

from __future__ import annotations

import socket
import threading
import time

import pytest
import redis

from cogworker_django.definition import job
from cogworker_django.worker import closing
from tests.stores import jids, queued
from tests.support import StartServer
from tests.worker.rigs import Rigs, messages, reaches, until
from tests.worker.test_processor import failing


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("cogworker")}


def test_nothing_starts_and_nothing_connects_before_it_is_asked_to(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R43."""
    before = redis_client.info("stats")["total_connections_received"]
    rigs()
    assert threads() == set()
    assert redis_client.info("stats")["total_connections_received"] == before


def test_it_consists_of_its_threads_and_no_others_and_leaves_none_behind(rigs: Rigs) -> None:
    rig = rigs(concurrency=3).start()
    assert threads() == {f"cogworker-{name}" for name in ("1", "2", "3", "keeper", "scheduler", "upkeep", "heartbeat")}
    rig.stop()
    until(lambda: not threads())


def test_a_clean_stop_leaves_nothing_of_the_process(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference I3."""
    seen = rigs.recording()
    rig = rigs().start()
    rig.push_many("note", [(n,) for n in range(20)])
    until(rig.settled)
    assert rig.store.process_reader.living()
    rig.stop()
    assert [key for key in redis_client.keys("t:*") if rig.identity.encode() in key] == []
    assert not redis_client.hexists("t:beats", rig.identity)
    assert len(seen) == 20


def test_a_stop_lets_running_jobs_end_and_puts_back_what_has_not_started(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R39, R49; case B072."""
    held, seen = rigs.holding(), rigs.recording()
    rig = rigs(concurrency=1)
    rig.push("hold")
    waiting = rig.push_many("note", [(n,) for n in range(5)])
    rig.start()
    reaches(held.runs, 1)
    rig.worker.close()
    held.let_go()
    rig.stop()
    assert jids(queued(redis_client))[::-1] == waiting
    assert (seen, rig.counts()) == ([], (1, 0))
    assert redis_client.keys("t:inprogress:*") == []
    assert redis_client.keys("t:orphanings:*") == []


def test_a_job_that_does_not_end_in_time_goes_back_and_its_late_end_changes_nothing(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Reference 13, R49; guarantee 4."""
    held = rigs.holding()
    rig = rigs(concurrency=1)
    jid = rig.push("hold")
    rig.start()
    reaches(held.runs, 1)
    rig.worker.close()
    rig.worker.finish()
    assert rig.worker.running
    assert jids(queued(redis_client)) == [jid]
    assert redis_client.keys("t:inprogress:*") == []
    held.let_go()
    until(lambda: not rig.worker.running)
    assert rig.counts() == (0, 0)
    assert jids(queued(redis_client)) == [jid]
    rig._started = False


def test_a_failure_during_the_drain_is_filed_and_its_hooks_run(rigs: Rigs) -> None:
    """Reference 12.5: no thread takes chores any more, so the stop does."""
    told: list[str] = []
    held = rigs.holding()

    @job(name="bad")
    def bad() -> None:
        held.run()
        raise ValueError("in the drain")

    rig = rigs(concurrency=1, handlers=[lambda payload: told.append(payload["jid"])]).start()
    jid = rig.push("bad", retry=False)
    reaches(held.runs, 1)
    rig.worker.close()
    held.let_go()
    rig.stop()
    assert [entry["jid"] for entry in rig.dead()] == told == [jid]


def test_a_failure_that_cannot_be_filed_at_the_end_is_handed_over_and_filed_by_another(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference P27, D6: not put back on its queue, since it has run, and nothing of the process is left."""
    failing()
    told: list[tuple[str, str]] = []
    rig = rigs(concurrency=1, fetch_idle_max_interval=30.0).start()
    until(rig.looked)
    redis_client.set("t:dead", "no set")
    jid = rig.push("fail", retry=False)
    until(lambda: rig.worker.exchange.hold.refused)
    rig.stop()
    assert not redis_client.exists("t:queue:default", f"t:inprogress:{rig.identity}", "t:beats")
    assert redis_client.llen("t:unsettled") == 1
    assert rig.counts() == (0, 1)
    assert "1 failures cannot be filed and are handed over to other processes" in messages(caplog)
    redis_client.delete("t:dead")
    other = rigs(handlers=[lambda payload, error: told.append((type(error).__name__, str(error)))]).start()
    until(lambda: told)
    [entry] = other.dead()
    assert entry["jid"] == jid
    assert told == [("JobFailedError", entry["error_message"])]
    assert not redis_client.exists("t:unsettled")
    assert other.counts() == (0, 1)


def test_what_can_neither_be_filed_nor_handed_over_stays_in_progress_for_recovery(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    failing()
    rig = rigs(concurrency=1, fetch_idle_max_interval=30.0).start()
    until(rig.looked)
    redis_client.set("t:dead", "no set")
    redis_client.set("t:unsettled", "no list")
    rig.push("fail", retry=False)
    until(lambda: rig.worker.exchange.hold.refused)
    rig.stop()
    assert queued(redis_client) == []
    assert redis_client.hlen(f"t:inprogress:{rig.identity}") == 1
    assert redis_client.hexists("t:beats", rig.identity)
    assert any("some finished jobs could not be settled" in line for line in messages(caplog))


def test_a_stop_while_redis_is_away_ends_all_the_same(
    start_server: StartServer, rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    """Within five seconds, although something has finished that nobody can settle."""
    server = start_server()
    held = rigs.holding()
    rig = rigs(url=server.url, concurrency=2).start()
    rig.push("hold")
    until(lambda: held.started)
    server.kill()
    held.let_go()
    until(lambda: rig.worker.exchange.hold.finished)
    began = time.monotonic()
    rig.worker.close()
    rig.worker.finish()
    assert time.monotonic() - began < 5
    rig._started = False
    until(lambda: not rig.worker.running)


@pytest.mark.parametrize("left", ["queue", "due", "running", "nothing", "paused"])
def test_it_is_drained_when_its_queues_are_empty_nothing_is_due_and_nothing_runs(
    left: str, rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Contract 4, `--drain`."""
    held = rigs.holding()
    rig = rigs(concurrency=1)
    if left == "running":
        rig.push("hold")
        rig.start()
        reaches(held.runs, 1)
    elif left == "due":
        redis_client.zadd("t:retry", {"{}": 5.0})
    elif left in ("queue", "paused"):
        rig.push("hold")
        if left == "paused":
            rig.store.queue_reader.pause("default")
    redis_client.zadd("t:schedule", {"{}": 9_999_999_999.0})
    redis_client.lpush("t:queue:foreign", "not ours")
    assert rig.worker.drained() is (left in ("nothing", "paused"))


def test_a_dump_tells_every_threads_stack_and_job(rigs: Rigs, caplog: pytest.LogCaptureFixture) -> None:
    """Contract 4, TTIN."""
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    jid = rig.push("hold")
    reaches(held.runs, 1)
    rig.worker.dump()
    [busy] = [line for line in messages(caplog) if f"runs jid={jid} of queue default" in line]
    assert "in run" in busy
    assert any(line.startswith("thread cogworker-keeper") for line in messages(caplog))


def test_a_quiet_worker_moves_nothing_that_is_due_and_goes_on_beating(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference 24."""
    rig = rigs(orphan_threshold=0.3).start()
    rig.worker.set_quiet(True)
    redis_client.zadd("t:schedule", {'{"class":"note","args":[],"jid":"j","queue":"default"}': 5.0})
    beat = redis_client.hget("t:beats", rig.identity)
    until(lambda: redis_client.hget("t:beats", rig.identity) != beat)
    time.sleep(0.1)
    assert redis_client.zcard("t:schedule") == 1
    rig.worker.set_quiet(False)
    until(lambda: redis_client.zcard("t:schedule") == 0)


def test_a_scheduled_job_starts_when_it_is_due(rigs: Rigs) -> None:
    """Engine 1, "Times": within 50 ms; the margin here is for a busy machine."""
    started: list[float] = []

    @job(name="stamp")
    def stamp() -> None:
        started.append(time.time())

    rig = rigs(concurrency=2, fetch_idle_max_interval=30.0).start()
    until(rig.idle)
    due = time.time() + 0.4
    rig.push("stamp", at=due)
    until(lambda: started)
    assert 0 <= started[0] - due < 0.3


def test_a_paused_intake_holds_for_a_process_that_starts_later(rigs: Rigs) -> None:
    """Engine 3.10."""
    seen = rigs.recording()
    rig = rigs(fetch_idle_max_interval=0.1)
    rig.store.queue_reader.pause()
    rig.push("note", 1)
    rig.start()
    time.sleep(0.1)
    time.sleep(0.1)
    assert seen == []
    rig.store.queue_reader.resume()
    until(lambda: seen == [1], 2.0)


def sent_in(seconds: float, *urls: str) -> list[int]:
    """How many commands each server gets in a while; those that scripts run by themselves are not counted."""
    wires = []
    for url in urls:
        wire = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1].split("/")[0])))
        wire.sendall(b"MONITOR\r\n")
        assert wire.recv(5) == b"+OK\r\n"
        wires.append(wire)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.1)
    heard = []
    for wire in wires:
        wire.setblocking(False)
        heard.append(wire.recv(1 << 20))
        wire.close()
    return [sum(b" lua] " not in line for line in lines.splitlines()) for lines in heard]


@pytest.mark.slow
def test_an_idle_process_sends_fewer_than_three_commands_a_second(start_server: StartServer, rigs: Rigs) -> None:
    """Engine 4: in all, with one queue and with three alike."""
    urls = []
    for queues in ((("default", 1),), (("high", 3), ("default", 2), ("low", 1))):
        rig = rigs(url=start_server().url, concurrency=10, queues=queues).start()
        until(lambda rig=rig: rig.idle() and rig.looked())  # type: ignore[misc]
        urls.append(rig.config.redis.url or "")
    for _ in range(8):
        time.sleep(0.1)  # it settles in: threads connect, and look around for the first time
    sent = sent_in(5.0, *urls)
    assert min(sent) > 0
    assert max(sent) < 3 * 5


def test_death_hooks_that_hang_at_the_end_do_not_keep_the_process(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(closing, "LAST_HOOKS", 0.05)
    hanging = rigs.holding("unused")
    rig = rigs(concurrency=1).start()
    rig.worker.close()
    until(lambda: not rig.worker.running)
    rig.worker._handout.add_chore(hanging.run)
    began = time.monotonic()
    rig.stop()
    assert time.monotonic() - began < 3.0
    assert hanging.started == 1
    assert any("death hooks have not ended" in line for line in messages(caplog))
    assert not rig.store.gateway.call("EXISTS", "t:beats")


def test_what_goes_wrong_around_a_last_hook_keeps_neither_the_others_nor_the_end(rigs: Rigs) -> None:
    trouble = [SystemExit("no database")]
    ran: list[int] = []

    def before() -> None:
        if trouble:
            raise trouble.pop()

    rig = rigs(concurrency=1, before=before).start()
    rig.worker.close()
    until(lambda: not rig.worker.running)
    rig.worker._handout.add_chore(lambda: ran.append(1))
    rig.worker._handout.add_chore(lambda: ran.append(2))
    rig.stop()
    assert ran == [2]
    assert not rig.store.gateway.call("EXISTS", "t:beats")
