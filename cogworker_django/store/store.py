"""Everything of the product in one Redis, opened once per process."""

from __future__ import annotations

from cogworker_django.core.config import Config, HistoryConfig
from cogworker_django.store.attempts import Attempts
from cogworker_django.store.bells import Bells
from cogworker_django.store.browser import Browser
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.connection import SPARE, TIMEOUT, connect
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.graduation import Graduation
from cogworker_django.store.guard import Guard
from cogworker_django.store.history import DAY, RunHistory
from cogworker_django.store.jobsets import JobSets
from cogworker_django.store.keys import Keys
from cogworker_django.store.once import Once
from cogworker_django.store.operations import Operations
from cogworker_django.store.periodic import PeriodicStore
from cogworker_django.store.process_reader import ProcessReader
from cogworker_django.store.processes import Processes
from cogworker_django.store.queue_reader import QueueReader
from cogworker_django.store.queues import Queues
from cogworker_django.store.recovery import Recovery
from cogworker_django.store.server import Server
from cogworker_django.store.settlements import Settlements
from cogworker_django.store.snapshot import SnapshotReader
from cogworker_django.store.statistics import Counted, Statistics, hour_of
from cogworker_django.store.status import Statuses
from cogworker_django.store.trips import Gathered, Trips
from cogworker_django.store.unsettled import Unsettled


class Store:
    """The subjects of the store over one pool of connections. Nothing connects before it is used.

    Args:
        config: where Redis is, the prefix, and the limits that scripts take.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self.client = connect(config.redis, connections=config.concurrency + SPARE)
        self.keys = Keys(config.prefix)
        self.clock = RedisClock()
        self.gateway = Gateway(self.client, self.keys)
        self.server = Server(self.gateway)
        self.statuses = Statuses(self.gateway, config.status.expiration if config.status else None)
        self.history = _history(self.gateway, config.history)
        self.queues = Queues(self.gateway, self.statuses, lock_ttl=config.unique_lock_ttl)
        self.periodic = PeriodicStore(
            self.gateway, self.queues, lock_ttl=config.unique_lock_ttl, status_ttl=self.statuses.ttl
        )
        self.queue_reader = QueueReader(self.gateway)
        self.jobsets = JobSets(
            self.gateway,
            dead_max_jobs=config.dead_max_jobs,
            dead_max_age=config.dead_max_age,
            lock_ttl=config.unique_lock_ttl,
        )
        self.graduation = Graduation(self.jobsets)
        self.attempts = Attempts(self.gateway)
        self.statistics = Statistics(self.gateway)
        self.settlements = Settlements(
            self.keys, self.attempts, self.jobsets, self.clock, lock_ttl=config.unique_lock_ttl
        )
        self.processes = Processes(self.gateway, presence_ttl=config.presence_ttl)
        self.process_reader = ProcessReader(self.gateway)
        self.recovery = Recovery(
            self.gateway,
            threshold=config.orphan_threshold,
            most=config.max_orphanings,
            dead_max_jobs=config.dead_max_jobs,
            dead_max_age=config.dead_max_age,
            lock_ttl=config.unique_lock_ttl,
        )
        self.browser = Browser(self.gateway)
        self.once = Once(self.gateway)
        self.operations = Operations(self.gateway)
        self.snapshots = SnapshotReader(self.gateway)
        self.unsettled = Unsettled(self.gateway)
        self.guard = Guard(self.gateway, threshold=config.orphan_threshold)
        self._clients = [self.client]
        self._hour: tuple[int, Gathered] = (-1, [])

    def lock_holder(self, digest: str) -> str | None:
        """Read the id of the job that holds the lock of a unique one; None when it is free."""
        holder = self.gateway.call("GET", self.keys.unique(digest))
        return None if holder is None else str(holder.decode(errors="replace"))

    def trips(self, identity: str, *, reliable: bool) -> Trips:
        """The trips of one process, over one connection of their own."""
        return Trips(
            self._gateway_of_its_own(TIMEOUT),
            identity,
            reliable=reliable,
            gathered=self._gathered,
            lock_ttl=self._config.unique_lock_ttl,
            status_ttl=self.statuses.ttl,
            history_kept=self.history.max_entries,
        )

    def bells(self, block: float) -> Bells:
        """The bells, over one connection of their own whose replies may take `block` seconds longer."""
        return Bells(self._gateway_of_its_own(TIMEOUT + block), self.gateway)

    def close(self) -> None:
        """Closes all connections, those of trips and bells too; whoever uses one again opens it again."""
        for client in self._clients:
            client.close()

    def _gateway_of_its_own(self, timeout: float) -> Gateway:
        client = connect(self._config.redis, connections=1, timeout=timeout)
        self._clients.append(client)
        return Gateway(client, self.keys)

    def _gathered(self, now: float) -> Gathered:
        """The counters of the current hour and day; built once an hour."""
        hour = hour_of(now)
        if self._hour[0] != hour:
            commands = [
                (str(kind), command) for kind in Counted for command in self.statistics.counted(kind, hour, "$n")
            ]
            self._hour = (hour, [*commands, *self.history.counted(now)])
        return self._hour[1]


def _history(gateway: Gateway, config: HistoryConfig | None) -> RunHistory:
    if config is None:
        return RunHistory(gateway, max_entries=0, retention=0.0, daily_retention=0.0)
    return RunHistory(
        gateway,
        max_entries=config.max_entries,
        retention=config.retention_days * DAY,
        daily_retention=config.daily_stats_retention_days * DAY,
    )
