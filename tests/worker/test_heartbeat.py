"""Beats go on, whatever else goes wrong."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
import redis

from cogworker_django.process.memory import resident_kb
from cogworker_django.store.process_reader import Signal
from cogworker_django.worker import heartbeat
from tests.stores import open_store
from tests.support import StartServer
from tests.worker.rigs import Rig, Rigs, messages, reaches, until


def info(rig: Rig, client: redis.Redis) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(client.get(f"t:process:{rig.identity}") or "{}")
    return found


def obeying(rig: Rig) -> None:
    """Follows the commands that a worker gets, as a launcher does."""
    for command in rig.commands:
        rig.worker.set_quiet(command == "quiet")
    rig.commands.clear()


def test_a_job_that_cannot_be_shown_does_not_end_the_beats(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process without beats counts as dead, and its jobs would run a second time elsewhere."""
    rig = rigs(orphan_threshold=0.3).start()

    def published() -> bytes:
        raise RecursionError("too deep to be shown")

    monkeypatch.setattr(rig.worker.work, "published", published)
    until(lambda: "heartbeat failed: RecursionError: too deep to be shown" in messages(caplog))
    beats = rig.store.gateway.call("HGET", "t:beats", rig.identity)
    until(lambda: rig.store.gateway.call("HGET", "t:beats", rig.identity) != beats)


# Presence


def test_a_beat_tells_what_the_process_is_and_does(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference 21."""
    held = rigs.holding()
    rig = rigs(concurrency=2, queues=(("default", 3), ("low", 1))).start()
    rig.push("hold")
    reaches(held.runs, 1)
    assert rig.worker.heartbeat.beat()
    told = info(rig, redis_client)
    assert (told["pid"], told["concurrency"], told["queues"]) == (os.getpid(), 2, [["default", 3], ["low", 1]])
    assert (told["busy"], told["quiet"], told["fetch"]) == (1, False, "reliable")
    assert 0 < told["started_at"] <= time.time()
    assert told["rss_kb"] is None or told["rss_kb"] > 1000
    assert told["hostname"]
    [state] = rig.store.process_reader.living()
    assert state.identity == rig.identity


def test_what_runs_is_published_with_the_beat_and_taken_off_with_the_next(rigs: Rigs) -> None:
    """Reference P6."""
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    jid = rig.push("hold")
    reaches(held.runs, 1)
    rig.worker.heartbeat.beat()
    [(_, [row])] = rig.store.process_reader.work([rig.identity])
    assert (row["queue"], row["payload"]["jid"]) == ("default", jid)
    assert row["thread"].startswith("cogworker-")
    held.let_go()
    until(lambda: not rig.worker.work.busy)
    rig.worker.heartbeat.beat()
    assert rig.store.process_reader.work([rig.identity]) == [(rig.identity, [])]


def test_a_long_job_is_published_between_two_beats(rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LONG_JOB", 0.05)
    held = rigs.holding()
    rig = rigs(concurrency=2).start()
    rig.push("hold")
    reaches(held.runs, 1)
    until(lambda: rig.store.process_reader.work([rig.identity])[0][1], 2.0)


def test_an_idle_process_writes_nothing_about_its_work(rigs: Rigs, redis_client: redis.Redis) -> None:
    rig = rigs().start()
    redis_client.config_resetstat()
    rig.worker.heartbeat.beat()
    stats: dict[str, Any] = redis_client.info("commandstats")
    assert stats["cmdstat_set"]["calls"] == 1
    assert not redis_client.exists(f"t:work:{rig.identity}")


def test_memory_is_told_where_the_system_tells_it() -> None:
    kb = resident_kb()
    assert kb is None or kb > 1000


# Errors


def test_beats_go_on_after_a_failed_one(start_server: StartServer, rigs: Rigs) -> None:
    """Reference E4: a failed beat is reported and the next one comes."""
    server = start_server(persistent=True)
    rig = rigs(url=server.url, orphan_threshold=0.3).start()
    server.kill()
    until(lambda: rig.worker._outages.is_out("heartbeat"))
    server.start()
    until(lambda: not rig.worker._outages.is_out("heartbeat"))
    assert rig.store.gateway.call("HEXISTS", "t:beats", rig.identity)


def test_the_first_beat_is_repeated_until_redis_is_there(start_server: StartServer, rigs: Rigs) -> None:
    """Reference E6."""
    server = start_server()
    rig = rigs(url=server.url)
    server.kill()
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 3:
            server.start()
        return False

    assert rig.worker.heartbeat.first(wait)
    assert waits == [1.0] * 3
    assert rig.store.gateway.call("HEXISTS", "t:beats", rig.identity)


def test_a_start_that_is_told_to_stop_gives_up(start_server: StartServer, rigs: Rigs) -> None:
    """Reference E7."""
    server = start_server()
    rig = rigs(url=server.url)
    server.kill()
    assert not rig.worker.heartbeat.first(lambda seconds: True)


def test_damaged_registries_do_not_stop_a_start(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference E9."""
    for key in ("t:beats", "t:queues", "t:paused_queues"):
        redis_client.set(key, "of no use")
    seen = rigs.recording()
    rig = rigs().start()
    rig.push("note", 1)
    until(lambda: seen == [1])
    assert info(rig, redis_client)


def test_a_full_server_still_takes_beats(start_server: StartServer, rigs: Rigs) -> None:
    """Else all processes would count as dead while the server is full."""
    server = start_server("--maxmemory-policy", "noeviction")
    rig = rigs(url=server.url)
    held = rigs.holding()
    rig.start()
    rig.push("hold")
    reaches(held.runs, 1)
    rig.store.client.config_set("maxmemory", 1)
    before = rig.store.client.hget("t:beats", rig.identity)
    assert rig.worker.heartbeat.beat()
    assert rig.store.client.hget("t:beats", rig.identity) != before
    rig.store.client.config_set("maxmemory", 0)


def test_its_queues_are_listed_before_they_have_a_job(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference E12."""
    rig = rigs(queues=(("a", 1), ("b", 1)), orphan_threshold=0.3).start()
    until(lambda: redis_client.smembers("t:queues") == {b"a", b"b"})
    assert rig.queued("a") == 0


# Who may judge others


def test_a_process_that_was_out_of_touch_does_not_judge_others_for_two_beats(
    start_server: StartServer, rigs: Rigs
) -> None:
    """Engine 2: whatever kept it away may have kept them away too."""
    server = start_server(persistent=True)
    rig = rigs(url=server.url, orphan_threshold=0.3)
    beats = rig.worker.heartbeat
    assert beats.beat()
    trusted = [beats.may_judge]
    server.kill()
    until(lambda: not beats.may_judge)
    server.start()
    assert beats.beat()
    trusted.append(beats.may_judge)
    assert trusted == [True, False]
    until(lambda: beats.beat() and beats.may_judge, step=0.05)


# Remote commands


def test_commands_reach_an_idle_process_at_once(rigs: Rigs) -> None:
    """Reference I4: by the list, while a thread waits at the bells."""
    rig = rigs().start()
    until(rig.idle)
    for signal in (Signal.QUIET, Signal.RESUME, Signal.STOP):
        rig.store.process_reader.signal(rig.identity, signal)
    until(lambda: rig.commands == ["quiet", "resume", "stop"], 2.0)


def test_commands_reach_a_process_whose_threads_are_all_busy_with_the_next_beat(rigs: Rigs) -> None:
    held = rigs.holding()
    rig = rigs(concurrency=1, orphan_threshold=0.3)
    rig.push("hold")
    rig.start()
    reaches(held.runs, 1)
    rig.store.process_reader.signal(rig.identity, Signal.QUIET)
    until(lambda: rig.commands == ["quiet"], 2.0)


def test_a_command_given_while_the_process_was_away_waits_for_it(start_server: StartServer, rigs: Rigs) -> None:
    """Engine 3.10: commands are kept until they are read, not only published."""
    server = start_server(persistent=True)
    rig = rigs(url=server.url, orphan_threshold=0.3)
    assert rig.worker.heartbeat.beat()
    boss = open_store(server.url)
    boss.process_reader.signal(rig.identity, Signal.STOP)
    boss.client.close()
    server.stop()
    server.start()
    rig.start()
    until(lambda: rig.commands == ["stop"])


def test_a_wake_up_that_nobody_took_is_no_command(rigs: Rigs, redis_client: redis.Redis) -> None:
    held = rigs.holding()
    rig = rigs(concurrency=1)
    rig.push("hold")
    rig.start()
    reaches(held.runs, 1)
    redis_client.rpush(f"t:signals:{rig.identity}", "wake", "quiet")
    rig.worker.heartbeat.beat()
    assert rig.commands == ["quiet"]


def test_a_quiet_process_gives_its_buffer_back_fetches_nothing_and_resumes(
    rigs: Rigs, redis_client: redis.Redis
) -> None:
    """Reference I4."""
    held, seen = rigs.holding(), rigs.recording()
    rig = rigs(concurrency=1, fetch_idle_max_interval=0.05)
    rig.push("hold")
    rig.push_many("note", [(n,) for n in range(3)])
    rig.start()
    reaches(held.runs, 1)
    rig.store.process_reader.signal(rig.identity, Signal.QUIET)
    rig.worker.heartbeat.beat()
    obeying(rig)
    assert info(rig, redis_client)["quiet"]
    assert (rig.queued(), rig.held()) == (3, 1)
    held.let_go()
    until(lambda: rig.held() == 0)
    time.sleep(0.1)
    assert (seen, rig.queued()) == ([], 3)
    rig.store.process_reader.signal(rig.identity, Signal.RESUME)
    until(lambda: rig.commands == ["resume"], 2.0)
    obeying(rig)
    until(lambda: seen == [0, 1, 2])
    assert not info(rig, redis_client)["quiet"]
