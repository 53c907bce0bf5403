"""The store as a whole: what one process opens, and that nothing of it leaves its prefix."""

from __future__ import annotations

import json
import re
import socket
import time
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from cogworker_django.core.config import Config
from cogworker_django.core.dispatch import Push
from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.embedded import EmbeddedServer, free_port
from cogworker_django.store.attempts import Attempt
from cogworker_django.store.browser import Mode, Spot
from cogworker_django.store.jobsets import Promotion, SetName
from cogworker_django.store.process_reader import Signal
from cogworker_django.store.scripts import load, names
from cogworker_django.store.settlement import Filing
from cogworker_django.store.settlements import Subject
from cogworker_django.store.statistics import hour_of
from cogworker_django.store.store import Store
from cogworker_django.store.unsettled import record_of
from cogworker_django.worker.delivery import Delivery
from tests.stores import raw_job
from tests.support import StartServer
from tests.trips import ME, Traveller

PREFIX = "{t}:"
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def jid(number: int) -> str:
    return f"{number:024}"


def push(number: int, queue: str = "default", *, at: float | None = None) -> Push:
    raw = raw_job(jid(number), queue)
    return Push(json.loads(raw), raw, None, at)


def use_every_script(store: Store) -> None:
    """A day in the life of a store, in which each script has something to do."""
    failure = Attempt(attempt=1, failed_at=5.0, outcome="retrying", error_class="E", error_message="no")
    store.processes.beat(ME, progress="0 2", info=b"{}", read_commands=True)
    store.processes.publish_work(ME, b"[]")
    store.queues.push([push(n) for n in range(1, 9)])
    store.queues.push([push(n, at=float(n)) for n in range(11, 19)])
    process = Traveller(store)
    process.go(6)
    verdicts = [
        store.settlements.retry(Subject(token="2:default", jid=jid(2), orphaned=True), b'{"a":1}', 0.0, failure),
        store.settlements.dead(Subject(token="3:default", jid=jid(3), orphaned=True), b'{"b":1}', failure, None),
    ]
    assert process.go(0, done=["1:default"], verdicts=verdicts).results == ["settled", "settled"]
    assert process.trips.give_back([Delivery(4, "default", raw_job(jid(4)), 0.0, False)])
    basic = Traveller(store, "basic", reliable=False)
    basic.trips.give_back([Delivery(1, "low", raw_job(jid(5), "low"), 0.0, False)])

    store.graduation.due(SetName.SCHEDULE, 2)
    sets = store.jobsets
    sets.promote(SetName.SCHEDULE, [Promotion(raw_job(jid(13)), "default", raw_job(jid(13)))])
    sets.kill(SetName.SCHEDULE, [raw_job(jid(14))])
    sets.bury(SetName.SCHEDULE, [(raw_job(jid(15)), b"wrapper")])
    sets.postpone(SetName.SCHEDULE, [raw_job(jid(16))], 60)
    sets.reschedule(SetName.SCHEDULE, raw_job(jid(16)), at=1.0)
    sets.remove(SetName.SCHEDULE, [raw_job(jid(16))])
    sets.trim_dead()
    store.statistics.summary()
    store.history.search("all", jid(1))
    store.history.trim()
    store.browser.of_set(SetName.DEAD, Spot(place=0), Mode.AFTER, number=1)
    store.browser.of_queue("default", Spot(place=0), Mode.AFTER, number=1)
    store.browser.run(1.0, "0" * 12)
    store.browser.tops(1, ["default"])
    store.periodic.fire("entry", 5, push(21))
    store.periodic.skip("entry", 6)
    store.periodic.publish({"entry": b"{}"}, 60.0)
    store.periodic.disable("entry")
    store.periodic.enable("entry")
    store.attempts.of(jid(2))

    store.bells(block=1.0).put_back(store.keys.bell("default"), b"1")
    store.queue_reader.pause("default")
    store.queue_reader.resume("default")
    assert list(store.queue_reader.walk("default"))
    assert store.queue_reader.remove("default", next(store.queue_reader.walk("default")))
    store.queue_reader.clear("default")
    store.process_reader.signal(ME, Signal.QUIET)
    store.process_reader.holder(jid(99))

    orphans = store.recovery
    store.gateway.call("HSET", store.keys.in_progress("dead"), "1:default", raw_job(jid(6)), "2:low", raw_job(jid(7)))
    store.gateway.call("HSET", store.keys.beats, "dead", "1.0 2 2")
    store.gateway.call("SET", store.keys.orphanings(jid(6)), 9)
    recovered = orphans.recover("dead")
    assert recovered is not None
    assert (recovered.moved, recovered.condemned) == (1, ["1:default"])
    assert orphans.condemned("dead", recovered.condemned)
    assert orphans.bury("dead", "1:default", b"orphan")

    filing = Filing(set="retry", score=5.0, entry=raw_job(jid(8)))
    store.gateway.call("RPUSH", store.keys.unsettled, record_of(filing), b"no record")
    assert store.unsettled.file(record_of(filing), filing, jid(8))
    assert store.unsettled.set_aside(b"no record")
    for key in (store.keys.signals(ME), store.keys.in_progress(ME)):
        store.gateway.call("DEL", key)
        store.gateway.call("SET", key, "wrong")
    assert process.trips.restore({"9:default": raw_job(jid(9))}) == "string"
    assert isinstance(store.recovery.scan(), set)
    damaged = store.guard.damaged(["default"])
    assert [store.guard.quarantine(key, expected) is not None for key, expected in damaged.items()] == [True]
    process.trips.requeue_all([], set())
    assert store.processes.forget(ME)


def open_store(url: str, **target: Any) -> Store:
    return Store(Config(redis=RedisTarget(url=url, **target), prefix=PREFIX))


def test_no_script_and_no_command_touches_a_key_outside_the_prefix(redis_url: str, redis_client: redis.Redis) -> None:
    """Engine 2: under a hash tag no script touches another slot. What is watched are the keys really used."""
    wire = socket.create_connection(("127.0.0.1", int(redis_url.rsplit(":", 1)[1].split("/")[0])))
    wire.sendall(b"MONITOR\r\n")
    assert wire.recv(5) == b"+OK\r\n"
    store = open_store(redis_url)
    use_every_script(store)
    redis_client.echo("no more calls")
    heard = b""
    while b"no more calls" not in heard:
        heard += wire.recv(1 << 20)
    wire.close()
    lines = heard.decode(errors="replace").splitlines()
    commands = [QUOTED.findall(line) for line in lines if '"' in line]
    called = {command[1] for command in commands if command[0].upper() in ("EVALSHA", "EVAL")}
    missing = [name for name in names() if load(name).sha not in called]
    assert missing == [], "use_every_script() has to use each script: add what is missing"
    touched = {key for command in commands for key in keys_of(redis_client, command)}
    assert len(touched) > 20
    assert {key for key in touched if not key.startswith(PREFIX)} == set()
    assert {key_slot(key.encode()) for key in touched} == {key_slot(b"t")}


def keys_of(client: redis.Redis, command: list[str]) -> list[str]:
    """The keys of a command, as the server itself reads it."""
    script = "local keys = redis.pcall('COMMAND', 'GETKEYS', unpack(ARGV)) return keys.err and {} or keys"
    found: Any = client.eval(script, 0, *command)
    return [key.decode() for key in found]


def start_node(start_server: StartServer) -> EmbeddedServer:
    """A Cluster of one. By itself it would take its own port plus 10,000 for the other nodes, which may be too high."""
    return start_server("--cluster-enabled", "yes", "--cluster-port", str(free_port()))


def test_a_cluster_takes_every_script_under_a_hash_tag(start_server: StartServer) -> None:
    """Contract 1: Redis Cluster when the prefix carries a hash tag; the server refuses whatever crosses slots."""
    server = start_node(start_server)
    admin = redis.Redis.from_url(server.url)
    admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    deadline = time.monotonic() + 10
    while b"cluster_state:ok" not in bytes(str(admin.execute_command("CLUSTER", "INFO")), "utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    store = open_store(server.url, cluster=True)
    use_every_script(store)
    assert store.bells(block=1.0).wait([store.keys.bell("a"), store.keys.schedule_bell], 0.01) is not None
    store.client.close()
    admin.close()


def test_a_cluster_that_cannot_be_reached_is_away(start_server: StartServer) -> None:
    server = start_node(start_server)
    server.kill()
    store = open_store(server.url, cluster=True)
    with pytest.raises(RedisUnavailable):
        store.gateway.call("GET", store.keys.processed)


@pytest.mark.parametrize("cluster", [False, True])
def test_nothing_connects_before_it_is_used(cluster: bool) -> None:
    """A project that cannot reach Redis still imports its jobs and answers requests."""
    store = open_store("redis://127.0.0.1:1/0", cluster=cluster)
    store.trips("me", reliable=True)
    store.bells(block=1.0)


def test_a_process_travels_over_a_connection_that_nobody_else_uses(redis_url: str) -> None:
    """A pool that is used up by other threads never holds a settlement up."""
    store = Store(Config(redis=RedisTarget(url=redis_url), prefix="t:", concurrency=1))
    pool = store.client.connection_pool
    held = [pool.get_connection() for _ in range(6)]
    assert Traveller(store).go(0).jobs == []
    for connection in held:
        pool.release(connection)
    store.client.close()


def test_what_is_counted_falls_into_the_hour_of_the_servers_clock(redis_url: str, redis_client: redis.Redis) -> None:
    store = open_store(redis_url)
    process = Traveller(store)
    redis_client.hset(store.keys.in_progress(ME), mapping={"1:default": "job", "2:default": "job"})
    for hour, token in ((500_000, "1:default"), (500_001, "2:default")):
        store.clock.tell(hour * 3600.0 + 1800)
        process.go(0, done=[token])
        assert hour_of(store.clock.now()) == hour
    for hour in (500_000, 500_001):
        assert redis_client.hget(store.keys.throughput(hour), "processed") == b"1"


@pytest.mark.parametrize("setting", ["orphan_threshold", "max_orphanings", "dead_max_jobs"])
def test_the_limits_of_the_settings_reach_the_scripts(setting: str, redis_url: str, redis_client: redis.Redis) -> None:
    values = {"orphan_threshold": 20.0, "max_orphanings": 1, "dead_max_jobs": 1}
    store = Store(Config(redis=RedisTarget(url=redis_url), prefix="t:", **{setting: values[setting]}))  # type: ignore[arg-type]  # of several types
    seconds, _ = redis_client.time()
    redis_client.hset("t:inprogress:dead", "1:default", raw_job(jid(1)))
    redis_client.hset("t:beats", "dead", f"{seconds - 100} 1 1")
    redis_client.set(store.keys.orphanings(jid(1)), 1)
    redis_client.zadd("t:dead", {"a": seconds, "b": seconds})
    recovered = store.recovery.recover("dead")
    changed = {
        "orphan_threshold": recovered is not None,
        "max_orphanings": False,
        "dead_max_jobs": store.jobsets.trim_dead() == 1,
    }
    if setting == "max_orphanings":
        redis_client.hset("t:beats", "dead", f"{seconds - 1000} 1 1")
        recovered = store.recovery.recover("dead")
        changed["max_orphanings"] = recovered is not None and recovered.condemned == ["1:default"]
    assert [name for name, is_so in changed.items() if is_so] == [setting]
