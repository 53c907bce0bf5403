"""One point's world: keys under a prefix of its own, a ledger, an actor and a rescuer."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, cast

import redis
from django.conf import settings

from cogworker_django import conf, runtime
from cogworker_django.core.lanes import lane_of
from cogworker_django.core.worker_options import WorkerOptions
from cogworker_django.process import logs
from cogworker_django.process.commands import Commands
from cogworker_django.process.service import Service
from cogworker_django.worker.launcher import Launcher
from cogworker_django.worker.reporter import Reporter
from tests.scenarios.checker import Snapshot
from tests.scenarios.ledger import VARIABLE, Ledger
from tests.scenarios.waiting import eventually

THRESHOLD = 0.35
"""Seconds without a beat after which a process is dead here."""
PATIENCE = 20.0
"""Seconds until something that should have happened is given up."""
OPEN = {"queue", "in progress", "schedule", "unsettled"}


class World:
    """Everything about one point.

    Args:
        url: of the server, which all points share.
        prefix: of this point's keys.
        directory: for its ledger and logs.
    """

    def __init__(self, url: str, prefix: str, directory: Path) -> None:
        directory.mkdir(parents=True)
        self.prefix = prefix
        self.redis = redis.Redis.from_url(url)
        self.ledger = Ledger(directory / "ledger")
        self.gate = directory / "gate"
        """A file that the jobs which wait for it wait for."""
        self.accepted: list[str] = []
        self.unknown = 0
        """How many jobs may run that nobody has noted as accepted."""
        self.slots = 0
        """How many periodic entries are due: each has one job."""
        self.at_risk: Counter[str] = Counter()
        self.buried = 0
        """Jobs that count as failed without a run of theirs having failed."""
        self._directory = directory
        self._settings: dict[str, Any] = {
            "REDIS": url,
            "PREFIX": prefix,
            "CONCURRENCY": 2,
            "ORPHAN_THRESHOLD": THRESHOLD,
            "SHUTDOWN_TIMEOUT": 0.5,
            "FETCH_IDLE_MAX_INTERVAL": 0.2,
            "IMPORTS": ["tests.scenarios.jobs"],
        }

    def key(self, name: str) -> str:
        """A key of this point."""
        return self.prefix + name

    def raw(self, name: str, *args: Any, **fields: Any) -> bytes:
        """A job as it is stored, noted as accepted."""
        jid = f"{len(self.accepted):024x}"
        self.accepted.append(jid)
        job = {"class": name, "args": list(args), "jid": jid, "queue": "default", "created_at": 1.0, **fields}
        return json.dumps(job).encode()

    def schedule(self, *entries: dict[str, Any]) -> None:
        """Has workers fire periodic entries, each of which is due once."""
        self._settings["PERIODIC"] = list(entries)
        self.slots = self.unknown = len(entries)

    def queue(self, *raws: bytes) -> None:
        """Puts jobs on their queue, each into its lane."""
        for raw in raws:
            self.redis.lpush(self.key(f"queue:{lane_of(json.loads(raw), 'default')}"), raw)
        self.redis.sadd(self.key("queues"), "default")

    def fork(self, body: Callable[[], None], name: str) -> int:
        """Starts a process that does something; its id."""
        child = os.fork()
        if child == 0:
            self._become(body, name)
        return child

    def fork_worker(self, before: Callable[[], None], name: str) -> int:
        """Starts a worker; `before` is called in it first."""

        def work() -> None:
            before()
            options = WorkerOptions(concurrency=2, queues=(("default", 1),), fetch="reliable")
            entries = conf.load_entries(conf.load_config())
            commands = Commands()
            commands.listen()
            reporter = Reporter(commands, Service({}))
            worker = Launcher(runtime.current(), options, entries, commands, reporter, before=_nothing, after=_nothing)
            sys.exit(worker.run())

        return self.fork(work, name)

    def log(self, name: str) -> str:
        """What a process has written."""
        path = self._directory / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def status(self, child: int, name: str) -> int:
        """Waits for the end of a process; its status."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise AssertionError(f"the {name} does not end: {self.log(name)}")

    def snapshot(self) -> Snapshot:
        """Where the jobs are."""
        return Snapshot.take(self.redis, self.prefix)

    def is_quiet(self) -> bool:
        """Whether nothing waits for a worker, nothing is due and nothing is damaged."""
        try:
            self.count("failed")
            if self.redis.zcount(self.key("retry"), "-inf", time.time()):
                return False
        except redis.ResponseError:
            return False
        if self.redis.hlen(self.key("periodic:slots")) < self.slots:
            return False
        return not any(OPEN.intersection(places) for places in self.snapshot().places.values())

    def note_risk(self) -> None:
        """Notes which jobs had begun in a process that is dead, and were not settled: each may run once more."""
        begun = {run.jid for run in self.ledger.runs()}
        for key in self.redis.scan_iter(self.key("inprogress:*")):
            held = (json.loads(raw)["jid"] for raw in cast(list[bytes], self.redis.hvals(key)))
            self.at_risk.update(jid for jid in held if jid in begun)

    def rescue(self) -> float:
        """Has another process finish everything; how many seconds that took."""
        self.gate.touch()
        rescuer = self.fork_worker(_nothing, "rescuer")
        try:
            took = eventually(lambda: self._is_rescued_by(rescuer), PATIENCE, "the rescue", lambda: self.log("rescuer"))
        finally:
            os.kill(rescuer, signal.SIGTERM)
            status = self.status(rescuer, "rescuer")
        assert status == 0, self.log("rescuer")
        return took

    def count(self, kind: str) -> int:
        """A counter of the installation."""
        return int(cast("bytes | None", self.redis.get(self.key(f"stats:{kind}"))) or 0)

    def _is_rescued_by(self, rescuer: int) -> bool:
        """Whether nothing is left to do, and the rescuer is the only process that there is."""
        if " started: " not in self.log("rescuer"):
            return False
        beats = cast(list[bytes], self.redis.hkeys(self.key("beats")))
        return self.is_quiet() and [beat.split(b":")[1] for beat in beats] == [str(rescuer).encode()]

    def _become(self, body: Callable[[], None], name: str) -> NoReturn:
        status = 1
        try:
            log = os.open(self._directory / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.environ[VARIABLE] = str(self.ledger.directory)
            settings.COGWORKER = self._settings
            runtime.reset()
            logs.install(None)
            body()
            status = 0
        except SystemExit as error:
            status = int(error.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _nothing() -> None:
    """What a worker without a database does around each job."""
