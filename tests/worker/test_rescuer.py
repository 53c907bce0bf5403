"""Bringing back the jobs of dead processes: passes of whole workers (reference, section 10)."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import ProcessDied, RedisDenied, RedisUnavailable
from cogworker_django.definition import Job
from cogworker_django.store.recovery import Recovery
from cogworker_django.worker.rescuer import Rescuer
from tests.stores import jids, queued, raw_job
from tests.support import StartServer
from tests.worker.rigs import Rig, Rigs, foreign, messages, reaches, until

DEAD = "host:1:dead"
IN_PROGRESS = f"t:inprogress:{DEAD}"


def rescuer(rig: Rig) -> Rescuer:
    return rig.worker._rescuer


def left_behind(client: redis.Redis, *raws: bytes, queue: str = "default", ago: float = 1000.0) -> None:
    """A process that died so long ago while it ran jobs."""
    client.hset(IN_PROGRESS, mapping={f"{n}:{queue}": raw for n, raw in enumerate(raws, start=1)})
    client.hset("t:beats", DEAD, f"{client.time()[0] - ago} {len(raws)} 1")


def test_a_dead_processes_jobs_run_again_and_everybody_hears_of_it(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Case B050; reference R8, R22."""
    seen = rigs.recording()
    left_behind(redis_client, *(foreign("note", n) for n in range(5)))
    rig = rigs(orphan_threshold=0.5, fetch_idle_max_interval=30.0).start()
    reaches(seen, 5)
    until(rig.settled)
    assert sorted(seen) == list(range(5))
    assert [line for line in messages(caplog) if "host:1:dead" in line] == [
        f"requeued 5 jobs of the dead process {DEAD}"
    ]
    assert not redis_client.hexists("t:beats", DEAD)
    assert redis_client.keys("t:orphanings:*") == []
    assert rig.counts() == (5, 0)


def test_a_queue_that_nobody_reads_is_named(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R21, R22."""
    left_behind(redis_client, raw_job(), queue="forgotten")
    rig = rigs()
    assert rig.worker.heartbeat.beat()
    rescuer(rig).look()
    assert "no living process reads the queues that jobs were put back onto: forgotten" in messages(caplog)


@pytest.mark.parametrize("queues", ["5", "null", "[5]", "[[]]", "[[{}]]", '"x"', '{"a":1}'])
def test_what_another_process_tells_of_itself_keeps_nobodys_jobs(
    queues: str, rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("1", "2"):
        redis_client.hset(f"t:inprogress:host:{name}:dead", "1:default", raw_job(name))
        redis_client.hset("t:beats", f"host:{name}:dead", "1.0 1 1")
    redis_client.hset("t:beats", "odd", f"{redis_client.time()[0]} 0 1")
    redis_client.set("t:process:odd", f'{{"queues":{queues}}}')
    rescuer(rigs()).look()
    assert sorted(jids(queued(redis_client))) == ["1", "2"]
    assert "no living process reads the queues that jobs were put back onto: default" in messages(caplog)


def test_what_could_not_be_put_back_is_told(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R17, R23."""
    redis_client.set("t:queue:broken", "no list")
    left_behind(redis_client, raw_job(), raw_job("b" * 24), queue="broken")
    rescuer(rigs()).look()
    assert f"2 jobs of the dead process {DEAD} could not be put back" in messages(caplog)
    assert redis_client.hlen(IN_PROGRESS) == 2


def test_it_never_takes_its_own_jobs(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R29."""
    rig = rigs()
    redis_client.hset(f"t:inprogress:{rig.identity}", "1:default", raw_job())
    redis_client.hset("t:beats", rig.identity, "1.0 1 1")
    rescuer(rig).look()
    assert redis_client.hlen(f"t:inprogress:{rig.identity}") == 1


def test_a_hash_that_no_registry_knows_is_found_by_the_first_pass(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference 10.1, R30: the scan, once."""
    redis_client.hset(IN_PROGRESS, "1:default", raw_job())
    rig = rigs()
    rescuer(rig).look()
    assert len(queued(redis_client)) == 1
    redis_client.hset(IN_PROGRESS, "1:default", raw_job("b" * 24))
    rescuer(rig).look()
    assert redis_client.hlen(IN_PROGRESS) == 1


def test_one_process_whose_hash_is_damaged_does_not_stop_the_others(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set("t:inprogress:a-broken-one", "no hash")
    redis_client.hset("t:beats", "a-broken-one", "1.0 1 1")
    left_behind(redis_client, raw_job())
    rescuer(rigs()).look()
    assert len(queued(redis_client)) == 1
    assert any("the jobs of process a-broken-one could not be recovered" in line for line in messages(caplog))


# Jobs that keep killing their processes


def condemned(client: redis.Redis, *raws: bytes) -> None:
    """A process that died while it ran jobs that had been orphaned as often as they may."""
    left_behind(client, *raws)
    for jid in jids(list(raws)):
        client.set(f"t:orphanings:{jid}", 3)


def test_a_job_whose_process_died_too_often_is_dead_with_process_died(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R36, R37, R56: whatever its `retry`, counted as failed, its hooks run once with `ProcessDied`."""
    told: list[Any] = []

    class Deadly(Job, name="deadly"):
        def perform(self) -> None: ...

        def retries_exhausted(self, payload: dict[str, Any], exception: BaseException) -> None:
            told.append(("class", payload["jid"], type(exception)))

    raw = foreign("deadly", retry=True)
    [jid] = jids([raw])
    rig = rigs(handlers=[lambda payload, error: told.append(("handler", str(error)))], max_orphanings=2)
    for _ in range(3):
        redis_client.delete("t:queue:default")
        left_behind(redis_client, raw)
        rescuer(rig).look()
    assert queued(redis_client) == []
    [entry] = rig.dead()
    assert (entry["jid"], entry["error_class"]) == (jid, "ProcessDied")
    assert "died more than 2 times" in entry["error_message"]
    assert rig.counts() == (0, 1)
    assert redis_client.keys("t:orphanings:*") == []
    rig.start()
    reaches(told, 2)
    assert told == [("class", jid, ProcessDied), ("handler", entry["error_message"])]
    assert any(f"buried deadly jid={jid}" in line for line in messages(caplog))
    assert sum("requeued 1 jobs" in line for line in messages(caplog)) == 2


def test_a_job_that_gets_to_finish_is_forgiven(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R27, R38."""
    seen = rigs.recording()
    raw = foreign("note", 1)
    [jid] = jids([raw])
    redis_client.set(f"t:orphanings:{jid}", 2)
    left_behind(redis_client, raw)
    rig = rigs(orphan_threshold=0.5).start()
    until(lambda: seen == [1] and rig.settled())
    assert not redis_client.exists(f"t:orphanings:{jid}")


def test_a_condemned_job_that_is_none_is_buried_as_it_is_without_hooks(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference 10.2: JSON with an id, so that it was counted, and nothing else that a job needs."""
    told: list[Any] = []
    condemned(redis_client, b'{"jid":"x"}')
    rig = rigs(handlers=[told.append])
    rescuer(rig).look()
    [entry] = rig.dead()
    assert (entry["class"], entry["raw_payload"], entry["queue"]) == ("(unparseable)", '{"jid":"x"}', "default")
    assert rig.worker._handout.leftover() == []


def test_a_vanished_class_dies_with_the_handlers_only(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R59."""
    told: list[str] = []
    condemned(redis_client, foreign("gone"))
    rig = rigs(handlers=[lambda payload: told.append(payload["class"])])
    rescuer(rig).look()
    [chore] = rig.worker._handout.leftover()
    chore()
    assert told == ["gone"]


def test_a_dead_set_that_cannot_take_it_leaves_the_job_in_progress_for_the_next_pass(
    rigs: Rigs, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference R54, R55; R62: the hooks run once over repeated passes."""
    condemned(redis_client, foreign("gone"))
    redis_client.set("t:dead", "no set")
    rig = rigs(handlers=[print])
    rescuer(rig).look()
    assert redis_client.hlen(IN_PROGRESS) == 1
    assert rig.worker._handout.leftover() == []
    assert any(f"the jobs of process {DEAD} could not be recovered" in line for line in messages(caplog))
    redis_client.delete("t:dead")
    rescuer(rig).look()
    assert len(rig.dead()) == len(rig.worker._handout.leftover()) == 1


def test_two_buriers_at_once_run_each_jobs_hooks_once(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference R56, R57: here all burials are straight to dead. R61: their locks go in the same step."""
    told: list[str] = []
    raws = [foreign("gone") for _ in range(100)]
    condemned(redis_client, *raws)
    pair = [rigs(handlers=[lambda payload: told.append(payload["jid"])]) for _ in range(2)]
    threads = [threading.Thread(target=rescuer(rig).look) for rig in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    for rig in pair:
        for chore in rig.worker._handout.leftover():
            chore()
    assert sorted(told) == sorted(jids(raws))
    assert redis_client.zcard("t:dead") == 100


# When not to judge


def test_a_server_that_has_just_started_is_given_time_for_everybodys_beats(
    start_server: StartServer, rigs: Rigs
) -> None:
    """Engine 2: after an outage nobody's running jobs are taken."""
    rig = rigs(url=start_server().url, orphan_threshold=300.0)
    left_behind(rig.store.client, raw_job())
    assert rig.worker.heartbeat.beat()
    assert rescuer(rig).round() == 2 * rig.config.beat_interval
    assert rig.queued() == 0
    rescuer(rig).round()
    assert rig.queued() == 1


def test_a_new_server_in_the_old_ones_place_is_given_time_too(start_server: StartServer, rigs: Rigs) -> None:
    server = start_server(persistent=True)
    rig = rigs(url=server.url, orphan_threshold=0.9)
    until(lambda: rig.worker.heartbeat.beat() and rescuer(rig).round() != 2 * rig.config.beat_interval, step=0.05)
    left_behind(rig.store.client, raw_job())
    server.stop()
    server.start()
    rig.worker.heartbeat.beat()
    until(rig.worker.heartbeat.beat)
    assert rescuer(rig).round() == 2 * rig.config.beat_interval
    assert rig.queued() == 0


def test_a_step_of_the_servers_clock_makes_nobody_dead(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T20: everybody's beats look old until the next one."""
    rig = rigs(orphan_threshold=300.0)
    monkeypatch.setattr(rescuer(rig), "_server", redis_client.info("server")["run_id"])
    rescuer(rig)._clock.tell(redis_client.time()[0] - 200.0)
    left_behind(redis_client, raw_job())
    assert rescuer(rig).round() == 2 * rig.config.beat_interval
    assert redis_client.hlen(IN_PROGRESS) == 1
    assert rescuer(rig).round() is None
    assert len(queued(redis_client)) == 1


def test_a_server_that_lets_nobody_scan_still_gets_its_registered_processes_looked_at(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference 10.1: each source fails on its own."""

    def refused(recovery: Recovery) -> set[str]:
        raise RedisDenied("Redis does not let us in: NOPERM")

    left_behind(redis_client, raw_job())
    monkeypatch.setattr(Recovery, "scan", refused)
    rescuer(rigs()).look()
    assert len(queued(redis_client)) == 1
    assert any("no look for unregistered processes" in line for line in messages(caplog))


def test_a_process_that_is_out_of_touch_itself_judges_nobody(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind(redis_client, raw_job())
    rig = rigs(orphan_threshold=0.5)
    monkeypatch.setattr(rescuer(rig), "_may_judge", lambda: False)
    for _ in range(3):
        assert rescuer(rig).round() == 2 * rig.config.beat_interval
    assert redis_client.hlen(IN_PROGRESS) == 1


def test_a_pass_that_lost_the_connection_is_repeated_soon(start_server: StartServer, rigs: Rigs) -> None:
    """Reference 10.1."""
    server = start_server()
    rig = rigs(url=server.url)
    server.kill()
    with pytest.raises(RedisUnavailable):
        rescuer(rig).round()


def test_a_scan_that_lost_the_connection_is_made_again(
    rigs: Rigs, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reference S7, S10: it counts as done only when it has succeeded."""

    def cut_off(recovery: Recovery) -> set[str]:
        raise RedisUnavailable("Redis is not available: cut off by the test")

    redis_client.hset(IN_PROGRESS, "1:default", raw_job())
    one = rescuer(rigs())
    with monkeypatch.context() as patch:
        patch.setattr(Recovery, "scan", cut_off)
        with pytest.raises(RedisUnavailable):
            one.look()
    one.look()
    assert len(queued(redis_client)) == 1


def test_what_a_pass_finds_strayed_in_its_own_hash_is_taken_up(rigs: Rigs, redis_client: redis.Redis) -> None:
    """Reference 10.3 in our form: each pass has the next trip compare the two sides."""
    seen = rigs.recording()
    rig = rigs(orphan_threshold=0.5, fetch_idle_max_interval=0.05).start()
    until(rig.idle)
    redis_client.hset(f"t:inprogress:{rig.identity}", "999:default", foreign("note", 1))
    until(lambda: seen == [1] and rig.settled(), 5.0)
