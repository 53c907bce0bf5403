"""One scenario's world: a server, workers, what was pushed to them and what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import redis
from django.test import override_settings

from cogworker_django import RedisUnavailable
from cogworker_django.definition import FunctionJob
from cogworker_django.embedded import EmbeddedServer
from tests.scenarios.checker import Evidence, Snapshot, faults, litter
from tests.scenarios.ledger import VARIABLE, Ledger
from tests.scenarios.process import WorkerProcess, environment
from tests.scenarios.waiting import eventually

PREFIX = "s:"


class Rig:
    """Starts workers, pushes jobs, and knows at the end whether all is well.

    Args:
        directory: for logs and the ledger.
        server: a server of the test's own.
        random: the seeded source of everything that is left to chance.
        settings: `COGWORKER` of the workers and of this process.
    """

    def __init__(self, directory: Path, server: EmbeddedServer, random: Random, settings: dict[str, Any]) -> None:
        self.server = server
        self.random = random
        self.settings = {
            "REDIS": server.url,
            "PREFIX": PREFIX,
            "CONCURRENCY": 5,
            "ORPHAN_THRESHOLD": 2.0,
            "SHUTDOWN_TIMEOUT": 8.0,
            "IMPORTS": ["tests.scenarios.jobs"],
            **settings,
        }
        self.redis = redis.Redis.from_url(server.url)
        self.ledger = Ledger(directory / "ledger")
        self.accepted: list[str] = []
        self.unknown = 0
        self.at_risk: Counter[str] = Counter()
        self.workers: list[WorkerProcess] = []
        self._directory = directory
        self._overridden = override_settings(COGWORKER=self.settings)
        self._overridden.enable()

    def close(self) -> None:
        """End what the test has left running."""
        for worker in self.workers:
            worker.reap()
        self._overridden.disable()
        self.redis.close()

    # -- workers -------------------------------------------------------------------------------------

    def worker(
        self,
        *flags: str,
        wait: bool = True,
        environ: dict[str, str] | None = None,
        under: Sequence[str] = (),
        **settings: Any,
    ) -> WorkerProcess:
        """Start a worker.

        Args:
            flags: of `manage.py cogworker`.
            wait: until it has started.
            environ: variables to add.
            under: a command that runs it in turn.
            settings: of this worker only.
        """
        log = self._directory / f"worker{len(self.workers)}.log"
        told = self.environment(**settings) | (environ or {})
        started = WorkerProcess(["-m", "django", "cogworker", *flags], told, log, under)
        self.workers.append(started)
        return started.started() if wait else started

    def environment(self, **settings: Any) -> dict[str, str]:
        """What a process needs to know to belong to this rig; `settings` are its own."""
        return environment(
            DJANGO_SETTINGS_MODULE="tests.scenarios.project",
            SCENARIO_SETTINGS=json.dumps(self.settings | settings),
            **{VARIABLE: str(self.ledger.directory)},
        )

    def kill(self, worker: WorkerProcess) -> set[str]:
        """Kill a worker and note which jobs it had in hand: each of them may run once more.

        It is frozen first: what the server holds for it then is all that it can have been running.
        """
        worker.freeze()
        in_hand = self.in_progress(worker)
        worker.kill()
        self.at_risk.update(in_hand)
        return in_hand

    def in_progress(self, worker: WorkerProcess) -> set[str]:
        """The jobs that the server holds for a worker."""
        return self.in_hand(worker.identity)

    def in_hand(self, identity: str) -> set[str]:
        """The jobs that the server holds for a process by its name."""
        raws = cast(list[bytes], self.redis.hvals(f"{PREFIX}inprogress:{identity}"))
        return {json.loads(raw)["jid"] for raw in raws}

    def stop(self, *workers: WorkerProcess) -> None:
        """Send TERM to workers (to all that live) and see that each stops as it should."""
        stopping = [worker for worker in workers or self.workers if not worker.has_ended]
        for worker in stopping:
            worker.send(signal.SIGTERM)
        for worker in stopping:
            assert worker.exit_status(self.settings["SHUTDOWN_TIMEOUT"] + 5) == 0, worker.text
            worker.no_traceback()

    # -- jobs ----------------------------------------------------------------------------------------

    def push(self, job: FunctionJob[..., Any], calls: Iterable[Sequence[Any]] = ((),), **options: Any) -> list[str]:
        """Push jobs in one go; their jids."""
        jids = [jid for jid in job.set(**options).perform_bulk(calls) if jid]
        self.accepted += jids
        return jids

    def push_one(self, job: FunctionJob[..., Any], *args: Any, **options: Any) -> str:
        """Push one job; its jid."""
        jid = job.set(**options).perform_async(*args)
        assert jid is not None
        self.accepted.append(jid)
        return jid

    def filed(self, name: str) -> list[dict[str, Any]]:
        """The entries of schedule, retry or dead, lowest score first."""
        raws = cast(list[bytes], self.redis.zrange(f"{PREFIX}{name}", 0, -1))
        return [json.loads(raw) for raw in raws]

    def push_surely(self, job: FunctionJob[..., Any], *args: Any) -> str:
        """Push one job through an outage: again and again, as an application does that must not lose it."""
        while True:
            try:
                return self.push_one(job, *args)
            except RedisUnavailable:
                self.unknown += 1
                time.sleep(0.05)

    def snapshot(self) -> Snapshot:
        """Where all jobs are now."""
        return Snapshot.take(self.redis, PREFIX)

    def count(self, kind: str) -> int:
        """A counter of the installation, `processed` or `failed`."""
        return int(cast("bytes | None", self.redis.get(f"{PREFIX}stats:{kind}")) or 0)

    def queued(self, queue: str = "default") -> int:
        """How many jobs wait on a queue."""
        return self.redis.llen(f"{PREFIX}queue:{queue}")

    def running(self, jid: str) -> bool:
        """Whether a job runs at the moment."""
        return any(run.jid == jid and run.ended is None for run in self.ledger.runs())

    def at_work(self, worker: WorkerProcess, seconds: float = 20.0) -> None:
        """Wait until a worker has jobs in hand."""
        eventually(lambda: self.in_progress(worker), seconds, "a worker to be at work", self.logs)

    def until_running(self, *jids: str, seconds: float = 10.0) -> None:
        """Wait until jobs run."""
        eventually(lambda: all(map(self.running, jids)), seconds, "jobs to run", self.logs)

    def until_done(self, seconds: float = 30.0) -> float:
        """Wait until no job waits for a worker or is in progress any more."""
        open_places = {"queue", "in progress", "schedule", "unsettled"}

        def is_done() -> bool:
            # A full look at thousands of jobs is dear, and slows down what is waited for.
            if self.queued():
                return False
            return not any(open_places.intersection(places) for places in self.snapshot().places.values())

        return eventually(is_done, seconds, "all jobs to be done", self.logs)

    def until_counted(self, processed: int, seconds: float = 10.0) -> None:
        """Wait until so many jobs have been settled as processed."""
        eventually(lambda: self.count("processed") == processed, seconds, f"{processed} jobs to be done", self.logs)

    # -- faults --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def frozen_server(self) -> Iterator[None]:
        """The server answers nobody, as a machine does that swaps."""
        os.kill(self.server.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.server.pid, signal.SIGCONT)

    def away(self, seconds: float, *flags: str) -> None:
        """The server is killed and comes back on the same port after some seconds, with flags if there are any."""
        self.server.kill()
        time.sleep(seconds)
        self.server.start(*flags)

    # -- the end -------------------------------------------------------------------------------------

    def verify(
        self, *, spare: int = 0, buried: int = 0, left: int = 0, dropped: Collection[str] = (), counted: bool = True
    ) -> None:
        """Stop all workers and check every rule.

        Args:
            spare: extra runs that lost replies explain.
            buried: jobs that killed their processes too often.
            left: jobs that must be left in Redis.
            dropped: jids that may be in no place: the server has forgotten them.
            counted: whether the counters are to be right: a server that forgets jobs forgets them too.
        """
        self.stop()
        evidence = Evidence(
            accepted=self.accepted,
            unknown=self.unknown,
            runs=self.ledger.runs(),
            left=self.snapshot(),
            at_risk=self.at_risk,
            spare=spare,
            processed=self.count("processed"),
            failed=self.count("failed"),
            dropped=dropped,
            buried=buried,
        )
        found = [*faults(evidence, counted=counted), *litter(self.redis, PREFIX)]
        assert not found, "\n".join([*found, self.logs()])
        assert len(evidence.left.places) == left, evidence.left.places

    def logs(self) -> str:
        """The ends of all workers' logs, for a failure's message."""
        return "\n".join(f"--- {worker.log.name}\n{worker.text[-2000:]}" for worker in self.workers)
