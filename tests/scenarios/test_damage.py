"""T16: each of our keys in turn holds the wrong type of value, and a worker at work goes on around it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from cogworker_django.store.statistics import hour_of
from tests.scenarios import jobs
from tests.scenarios.checker import Evidence, Snapshot, faults, litter
from tests.scenarios.conftest import StartRig
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

INTERVAL = 1.0
"""Seconds between two looks of the guard where the tests do not wait a minute for it."""
LATEST = 1.5
"""Seconds within which a job begins that has nothing to do with the damaged key: one look of an idle worker, which is
what finds jobs when their bell is damaged while a worker waits at it.
"""
GONE = "gone:1:abcdef"
WRITES: dict[str, Callable[[Any, str], object]] = {
    "string": lambda pipe, key: pipe.set(key, "wrong"),
    "list": lambda pipe, key: pipe.lpush(key, "wrong"),
    "set": lambda pipe, key: pipe.sadd(key, "wrong"),
    "hash": lambda pipe, key: pipe.hset(key, "wrong", "type"),
    "zset": lambda pipe, key: pipe.zadd(key, {"wrong": 1}),
}
OF_ITSELF = ("bell:", "schedule_bell", "signals:", "careful:", "orphaned", "process:", "work:")
"""What the work itself may write anew or delete before the guard has seen it: no copy can be asked for."""
SETS = ("schedule", "retry", "dead")


class Damage:
    """A worker under load, and the keys that are overwritten under it.

    Args:
        rig: with the settings of the test.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.worker = rig.worker("-q", "default", "-q", "other")
        self.lost: set[str] = set()
        self.waited: dict[str, float] = {}
        """For each damaged key the longest wait of a job beside it, in seconds."""

    def keys(self) -> dict[str, str]:
        """Every kind of key that is ours, without the prefix, and its type."""
        me = self.worker.identity
        return {
            **dict.fromkeys(SETS, "zset"),
            **dict.fromkeys(("queues", "paused_queues"), "set"),
            **dict.fromkeys(("unsettled", "quarantine:unsettled:records", "job_attempts:0a"), "list"),
            **dict.fromkeys(("queue:other", "bell:other", "bell:default", "schedule_bell", f"signals:{me}"), "list"),
            **dict.fromkeys(("stats:processed", "stats:failed", "orphaned", "careful:other"), "string"),
            **dict.fromkeys((f"process:{me}", f"work:{me}"), "string"),
            **dict.fromkeys((f"inprogress:{GONE}", f"inprogress:{me}"), "hash"),
            **dict.fromkeys(("beats", f"throughput:{hour_of(time.time())}"), "hash"),
        }

    def prepare(self) -> None:
        """Something for each set to lose."""
        rig = self.rig
        for _ in range(3):
            jid = jobs.nap.perform_in(3600, 0.0)
            assert jid is not None
            rig.accepted.append(jid)
        rig.push(jobs.fail_after, [(0.0,)] * 3)
        rig.push(jobs.fail_after, [(0.0,)] * 3, retry=0)
        eventually(lambda: len(rig.filed("retry")) == len(rig.filed("dead")) == 3, 10, "the failures", rig.logs)

    def overwrite(self, name: str, expected: str) -> str:
        """Put another type of value in the place of a key; the type."""
        kind = self.rig.random.choice([kind for kind in WRITES if kind != expected])
        if name in SETS:
            self.lost |= {entry["jid"] for entry in self.rig.filed(name)}
        with self.rig.redis.pipeline() as pipe:
            if name.endswith(GONE):
                pipe.hset(f"{PREFIX}beats", GONE, "1.0 1 1")
            pipe.delete(f"{PREFIX}{name}")
            WRITES[kind](pipe, f"{PREFIX}{name}")
            pipe.execute()
        return kind

    def is_sound(self, name: str, expected: str) -> bool:
        """Whether a key is as it should be, or gone."""
        return self.type_of(f"{PREFIX}{name}") in ("none", expected)

    def type_of(self, key: str | bytes) -> str:
        """What a key is."""
        actual: Any = self.rig.redis.type(key)
        return str(actual.decode())

    @contextmanager
    def load(self, name: str) -> Iterator[None]:
        """Push jobs meanwhile, a few now and then, so that the worker is busy and idle by turns; then see them done."""
        rig, stop, pushed = self.rig, threading.Event(), dict[str, float]()

        def push() -> None:
            while not (pushed and stop.wait(rig.random.uniform(0.0, 0.04))):
                at = time.monotonic()
                pushed.update(dict.fromkeys(rig.push(jobs.nap, [(0.002,)] * 3), at))

        thread = threading.Thread(target=push)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        begun: dict[str, float] = {}

        def all_have_begun() -> bool:
            begun.update((run.jid, run.started) for run in rig.ledger.runs() if run.jid in pushed)
            return len(begun) == len(pushed)

        eventually(all_have_begun, 20, f"the jobs beside {name}", rig.logs)
        self.waited[name] = max(begun[jid] - at for jid, at in pushed.items())

    def verify(self) -> None:
        """Stop the worker: everything has run, each job once, but for what was in an overwritten set; all is clean."""
        rig = self.rig
        rig.until_done(10)
        rig.stop()
        overwritten = {jid: ["overwritten"] for jid in self.lost}
        left = Snapshot(places=dict(rig.snapshot().places) | overwritten)
        evidence = Evidence(accepted=rig.accepted, runs=rig.ledger.runs(), left=left, processed=0, failed=0)
        # The counters were overwritten too.
        found = [fault for fault in faults(evidence) if not fault.startswith(("processed is", "failed is"))]
        found += litter(rig.redis, PREFIX)
        assert not found, "\n".join([*found, rig.logs()])
        late = {name: f"{seconds:.2f} s" for name, seconds in self.waited.items() if seconds > LATEST}
        print(f"the latest of {len(rig.accepted)} jobs began after {max(self.waited.values()) * 1000:.0f} ms")
        assert not late, f"jobs waited beside {late}\n{rig.logs()}"


def test_each_damaged_key_is_out_of_the_way_at_the_next_look_and_nothing_else_waits(start_rig: StartRig) -> None:
    """T16: with its data; lost is only what was overwritten."""
    rig = start_rig(ORPHAN_THRESHOLD=INTERVAL)
    damage, longest = Damage(rig), 0.0
    damage.prepare()
    for name, expected in damage.keys().items():
        with damage.load(name):
            kind = damage.overwrite(name, expected)
            sound = partial(damage.is_sound, name, expected)
            longest = max(longest, eventually(sound, INTERVAL + 1, f"{name}, a {kind}, to be sound", rig.logs))
        if not name.startswith(OF_ITSELF):
            [copy] = rig.redis.keys(f"{PREFIX}quarantine:{name}:*")
            assert damage.type_of(copy) == kind
    print(f"{len(damage.keys())} keys, out of the way after {longest:.2f} s at most")
    # And a fresh key works.
    rig.push(jobs.nap, [(0.0,)] * 10, queue="other")
    damage.verify()


def test_until_it_is_found_work_goes_on_around_a_damaged_key(start_rig: StartRig) -> None:
    """Reference 22: nobody waits for the next look, which is a minute away."""
    rig = start_rig(ORPHAN_THRESHOLD=300.0)
    damage = Damage(rig)
    damage.prepare()
    for name, expected in damage.keys().items():
        with damage.load(name):
            damage.overwrite(name, expected)
            time.sleep(0.4)
        if not damage.is_sound(name, expected):
            rig.redis.delete(f"{PREFIX}{name}")
    rig.redis.hdel(f"{PREFIX}beats", GONE)
    damage.verify()
    told = damage.worker.text.count("waiting for jobs failed")
    assert told <= 1, f"told {told} times in a minute that a bell is damaged"
