"""A whole worker inside the test's own process, on the test's server, with faults on demand."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import ExitStack
from typing import Any

import pytest

from cogworker_django import definition
from cogworker_django.client import JobClient
from cogworker_django.core import codec
from cogworker_django.core.config import Config
from cogworker_django.core.entry import Entry
from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.identity import new_jid
from cogworker_django.core.middleware import Chain
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job, job
from cogworker_django.runtime import Runtime
from cogworker_django.store.connection import connect
from cogworker_django.store.dispatcher import RedisDispatcher
from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.keys import Keys
from cogworker_django.store.store import Store
from cogworker_django.store.trips import Trips
from cogworker_django.worker import processor
from cogworker_django.worker.worker import Plan, Worker

PATIENCE = 10.0
"""Seconds that a test waits for what it expects; only a failing test waits so long."""


def until(condition: Callable[[], Any], seconds: float = PATIENCE, *, step: float = 0.005) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(step)


def reaches(things: Sized, number: int, seconds: float = PATIENCE, *, step: float = 0.005) -> None:
    """Waits until there are so many of something."""
    until(lambda: len(things) >= number, seconds, step=step)


def holds(condition: Callable[[], Any], seconds: float) -> bool:
    """Whether a condition holds all the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            return False
        time.sleep(0.005)
    return True


class Faults:
    """What goes wrong between a worker's trips and its server."""

    def __init__(self) -> None:
        self.away = False
        """Nothing reaches the server."""
        self.lose = 0
        """So many replies of trips are lost after the server has done what it was asked."""
        self.asked = 0
        """How often anything was asked over the connection of the trips."""
        self.meanwhile: Callable[[], None] | None = None
        """Done once, between the next trip's work on the server and the arrival of its reply."""

    def before(self) -> None:
        self.asked += 1
        if self.away:
            raise RedisUnavailable("Redis is not available: cut off by the test")

    def after(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        if self.lose > 0:
            self.lose -= 1
            raise RedisUnavailable("Redis is not available: the reply was lost by the test")


class ShakyGateway(Gateway):
    """The way to the real server, with faults."""

    def __init__(self, target: RedisTarget, keys: Keys, faults: Faults) -> None:
        super().__init__(connect(target, connections=1), keys)
        self._faults = faults

    def call(self, *command: Arg, **options: Any) -> Any:
        self._faults.before()
        return super().call(*command, **options)

    def run(self, name: str, keys: Sequence[str], args: Sequence[Arg] = ()) -> Any:
        self._faults.before()
        reply = super().run(name, keys, args)
        if name == "exchange":
            self._faults.after()
        return reply


class ShakyStore(Store):
    """A store whose trips go wrong when they are told to; everything else of it is sound."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.faults = Faults()

    def trips(self, identity: str, *, reliable: bool) -> Trips:
        gateway = ShakyGateway(self._config.redis, self.keys, self.faults)
        return Trips(
            gateway,
            identity,
            reliable=reliable,
            gathered=self._gathered,
            lock_ttl=self._config.unique_lock_ttl,
            status_ttl=self.statuses.ttl,
            history_kept=self.history.max_entries,
        )


class Rig:
    """A worker, its store, and the jobs of the test.

    Args:
        url: of the server.
        queues: names and weights.
        concurrency: threads.
        reliable: False for basic mode.
        middleware: around each run.
        handlers: death handlers.
        before: called before each run on the worker's thread.
        after: called after each run.
        entries: the periodic ones.
        settings: further fields of `Config`; status and history are off unless they are asked for.
    """

    def __init__(
        self,
        url: str,
        *,
        queues: Sequence[tuple[str, int]] = (("default", 1),),
        concurrency: int = 2,
        reliable: bool = True,
        middleware: Sequence[Any] = (),
        handlers: Sequence[Callable[..., Any]] = (),
        before: Callable[[], None] = lambda: None,
        after: Callable[[], None] = lambda: None,
        entries: Sequence[Entry] = (),
        **settings: Any,
    ) -> None:
        plain: dict[str, Any] = {"status": None, "history": None}
        self.config = Config(
            redis=RedisTarget(url=url),
            prefix="t:",
            concurrency=concurrency,
            queues=tuple(queues),
            **(plain | settings),
        )
        self.store = ShakyStore(self.config)
        self.faults = self.store.faults
        self.commands: list[str] = []
        self.runtime = Runtime(
            config=self.config,
            registry=definition.REGISTRY,
            store=self.store,
            client=JobClient(RedisDispatcher(self.store.queues), registry=definition.REGISTRY),
            server_chain=Chain([(entry, {}) for entry in middleware]),
            death_handlers=tuple(handlers),
        )
        self.worker = Worker(
            self.runtime,
            Plan(concurrency=concurrency, queues=queues, reliable=reliable, entries=entries),
            before=before,
            after=after,
            on_command=self.commands.append,
        )
        self._started = False

    @property
    def identity(self) -> str:
        return self.worker.identity

    def start(self) -> Rig:
        """Beats once and starts all threads."""
        assert self.worker.heartbeat.beat()
        self.worker.start()
        self._started = True
        return self

    def stop(self) -> None:
        """Stops as a launcher does; the test has let its jobs end."""
        if not self._started:
            return
        self._started = False
        self.faults.away = False
        self.worker.close()
        until(lambda: not self.worker.work.busy)
        self.worker.finish()
        until(lambda: not self.worker.running, 3.0)
        self.store.client.close()

    def kill(self) -> None:
        """Leaves everything as it lies, as a killed process would; its threads go home without a word."""
        self._started = False
        self.faults.away = True
        self.worker.close()
        for part in (
            self.worker._scheduler,
            self.worker._ticker,
            self.worker._upkeep,
            self.worker.keeper,
            self.worker.heartbeat,
        ):
            part.stop()
        self.worker._runner.close()

    def push(self, name: str, *args: Any, **fields: Any) -> str:
        """Pushes a job by its name."""
        jid = self.runtime.client.push({"class": name, "args": list(args), **fields})
        assert jid is not None
        return jid

    def push_many(self, name: str, calls: Sequence[Sequence[Any]], **fields: Any) -> list[str]:
        """Pushes jobs at once."""
        jids = self.runtime.client.push_bulk([{"class": name, "args": list(args), **fields} for args in calls])
        return [str(jid) for jid in jids]

    def dead(self) -> list[dict[str, Any]]:
        """The dead jobs, oldest first."""
        return [codec.decode(raw) for raw in self.raw("dead")]

    def retries(self) -> list[dict[str, Any]]:
        """The jobs waiting to be retried."""
        return [codec.decode(raw) for raw in self.raw("retry")]

    def raw(self, name: str) -> list[bytes]:
        """The members of a set."""
        found: list[bytes] = self.store.gateway.call("ZRANGE", f"t:{name}", 0, -1)
        return found

    def held(self) -> int:
        """How many unsettled jobs the server holds for the worker."""
        return int(self.store.gateway.call("HLEN", self.store.keys.in_progress(self.identity)))

    def queued(self, name: str = "default") -> int:
        """How many jobs wait on a queue."""
        return self.store.queue_reader.size(name)

    def counts(self) -> tuple[int, int]:
        """Processed and failed."""
        summary = self.store.statistics.summary()
        return summary.processed, summary.failed

    def idle(self) -> bool:
        """Whether nothing is about and a thread waits at the bells."""
        exchange = self.worker.exchange
        return exchange._listener.busy and self.settled() and not exchange.hold.finished

    def looked(self) -> bool:
        """Whether it has done once what it does once a minute; what a test damages now stays damaged for a while."""
        return all(task.due > 0 for task in self.worker._upkeep._tasks)

    def settled(self) -> bool:
        """Whether nothing waits, runs or is unsettled."""
        waiting = any(self.queued(name) for name, _ in self.config.queues)
        return not (waiting or self.held() or self.worker.exchange.hold.jobs)


class Held:
    """A job that runs until the test lets it go."""

    def __init__(self) -> None:
        self.runs: list[float] = []
        """When each run started, on the monotonic clock."""
        self._go = threading.Event()

    def run(self) -> None:
        self.runs.append(time.monotonic())
        assert self._go.wait(30)

    @property
    def started(self) -> int:
        """How many runs have started."""
        return len(self.runs)

    def let_go(self) -> None:
        self._go.set()


class Rigs:
    """Builds rigs of a test and stops them at its end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.built: list[Rig] = []
        self.held: list[Held] = []

    def __call__(self, **options: Any) -> Rig:
        """A rig on the test's server, or on that of the option `url`."""
        rig = Rig(options.pop("url", self.url), **options)
        self.built.append(rig)
        return rig

    def holding(self, name: str = "hold") -> Held:
        """A registered job that runs until it is let go, at the latest at the end of the test."""
        held = Held()
        self.held.append(held)

        def run() -> None:
            held.run()

        run.__qualname__ = run.__name__ = name
        job(name=name)(run)
        return held

    def recording(self, name: str = "note") -> list[Any]:
        """A registered job that notes its first argument in the list given back."""
        seen: list[Any] = []

        def run(value: Any = None) -> None:
            seen.append(value)

        run.__qualname__ = run.__name__ = name
        job(name=name)(run)
        return seen

    def close(self) -> None:
        for held in self.held:
            held.let_go()
        with ExitStack() as stops:
            for rig in self.built:
                stops.callback(rig.stop)


@pytest.fixture
def rigs(redis_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Rigs]:
    """Workers of the test's own; the jobs that it defines are forgotten afterwards."""
    registry: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", registry)
    monkeypatch.setattr(processor, "ERROR_PAUSE", 0.01)
    caplog.set_level(logging.WARNING, logger="cogworker")
    made = Rigs(redis_url)
    yield made
    made.close()


def foreign(name: str, *args: Any, **fields: Any) -> bytes:
    """A job as a foreign tool pushes it, without ringing a bell."""
    job: dict[str, Any] = {"class": name, "args": list(args), "jid": new_jid(), "queue": "default", "created_at": 1.5}
    return codec.encode(job | fields)


def messages(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    """What was logged at a level or above."""
    return [record.getMessage() for record in caplog.records if record.levelno >= level]
