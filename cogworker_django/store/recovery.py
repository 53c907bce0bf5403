"""Taking back the jobs of dead processes (reference, section 10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store import replies
from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.statistics import HOUR_KEPT
from cogworker_django.store.trips import number_of, tokens_of

COUNTER_TTL = 7 * 86_400
"""Seconds that a job's orphan counter lasts after the latest death."""
CAREFUL_TTL = 86_400
"""Seconds after which recovered jobs are fetched like others, should nobody have fetched them."""
BATCH = 1000
"""Jobs moved by one call: it stays far below 100 ms."""
PROGRESS = re.compile(rb"[\d.]+ (\d{1,18}) (\d{1,18})")
"""What a beat tells beside its stamp: the number of the last started job, and how many run at once."""


@dataclass(kw_only=True)
class Recovered:
    """What was done with one process's jobs."""

    moved: int = 0
    failed: int = 0
    """Jobs whose queue could not be written; they stay and are tried again at the next pass."""
    queues: set[str] = field(default_factory=set)
    condemned: list[str] = field(default_factory=list)
    """Tokens of jobs that were orphaned too often: they stay until they are buried."""


class Recovery:
    """Moves the unsettled jobs of dead processes.

    Args:
        gateway: to Redis.
        threshold: seconds without a beat after which a process is dead.
        most: recoveries of one job before it is buried.
        dead_max_jobs: how many dead jobs are kept.
        dead_max_age: how many seconds they are kept.
        lock_ttl: seconds that the lock of a unique job lasts from its way back on.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        threshold: float,
        most: int,
        dead_max_jobs: int,
        dead_max_age: float,
        lock_ttl: float,
    ) -> None:
        self._gateway = gateway
        self._threshold = threshold
        self._most = most
        self._dead_limits = (dead_max_jobs, dead_max_age)
        self._lock_ttl = lock_ttl

    def registered(self) -> set[str]:
        """The processes that have beaten or fetched and have not left.

        Raises:
            RedisRefused: the registry is damaged.
        """
        return set(_readable(self._gateway.call("HKEYS", self._gateway.keys.beats)))

    def scan(self) -> set[str]:
        """The processes that have unsettled jobs, registered or not; reads the whole key space in steps."""
        prefix = self._gateway.keys.in_progress("")
        return {key.removeprefix(prefix) for key in _readable(self._gateway.scan_all(prefix))}

    def register(self, identity: str) -> None:
        """Enters a process that is in no registry as if it had just beaten; one that has beaten since stays as it is.

        Without it, one that dies unregistered would be found by nobody but a process that boots (reference, 10.1).
        """
        now = replies.seconds(self._gateway.call("TIME"))
        self._gateway.call("HSETNX", self._gateway.keys.beats, identity, f"{now:.6f} 0 1")

    def recover(self, identity: str) -> Recovered | None:
        """Takes back what a process left, if it is dead.

        Returns:
            What was moved; None when the process lives.
        """
        total = Recovered()
        if not self._take_back(identity, 0, (), total):
            return None
        tokens = sorted(self._tokens(identity), key=number_of, reverse=True)
        border = self._running_until(identity, [number_of(token) for token in reversed(tokens)])
        for first in range(0, len(tokens), BATCH):
            if not self._take_back(identity, border, tokens[first : first + BATCH], total):
                break
        return total

    def condemned(self, identity: str, tokens: Sequence[str]) -> list[tuple[str, bytes]]:
        """The jobs that wait to be buried: token and raw job, without those that are gone by now."""
        found: list[tuple[str, bytes]] = []
        for first in range(0, len(tokens), BATCH):
            some = tokens[first : first + BATCH]
            raws = self._gateway.call("HMGET", self._gateway.keys.in_progress(identity), *some)
            found += [(token, raw) for token, raw in zip(some, raws, strict=True) if raw is not None]
        return found

    def bury(self, identity: str, token: str, entry: bytes) -> bool:
        """Files a job that was orphaned too often in dead; it counts as failed (reference, 10.2).

        It goes there straight from the dead process's hash, so that it is in one place all the time, with its error,
        and whoever's call takes it out tells the death hooks.

        Args:
            identity: of the dead process.
            token: of the job.
            entry: what is filed.

        Returns:
            Whether this call filed it.
        """
        keys = self._gateway.keys
        names = (*self._own_keys(identity), keys.dead, keys.failed, keys.nothing)
        args = (keys.prefix, identity, self._threshold, token, entry, *self._dead_limits, HOUR_KEPT)
        return bool(self._gateway.run("bury_orphan", names, args))

    def _own_keys(self, identity: str) -> tuple[str, str, str]:
        keys = self._gateway.keys
        return (keys.in_progress(identity), keys.beats, keys.process(identity))

    def _take_back(self, identity: str, border: int, tokens: Sequence[str], total: Recovered) -> bool:
        """One call, counted into the total; whether the process is still dead."""
        keys = self._gateway.keys
        args: list[Arg] = [keys.prefix, identity, self._threshold, self._most]
        args += (COUNTER_TTL, CAREFUL_TTL, border, self._lock_ttl, *tokens)
        names = (*self._own_keys(identity), keys.orphaned, keys.queues, keys.nothing)
        reply = self._gateway.run("recover", names, args)
        if reply is None:
            return False
        moved, failed, queues, condemned = reply
        total.moved += moved
        total.failed += failed
        total.queues |= {queue.decode() for queue in queues}
        total.condemned += [token.decode() for token in condemned]
        return True

    def _tokens(self, identity: str) -> list[str]:
        return tokens_of(self._gateway.call("HKEYS", self._gateway.keys.in_progress(identity)))

    def _running_until(self, identity: str, numbers: Sequence[int]) -> int:
        """The last number that can have been running: those that started, and as many more as there are threads.

        Args:
            identity: of the dead process.
            numbers: of its tokens, ascending.
        """
        try:
            told = self._gateway.call("HGET", self._gateway.keys.beats, identity)
        except RedisRefused:
            told = None  # a damaged registry
        beat = PROGRESS.match(told or b"")
        started, concurrency = (int(beat[1]), int(beat[2])) if beat else (0, 1)
        ahead = [number for number in numbers if number > started][:concurrency]
        return ahead[-1] if ahead else started


def _readable(names: Iterable[bytes]) -> Iterator[str]:
    """The names that a process of ours can have; one that is no text was written by something else."""
    for name in names:
        try:
            yield name.decode()
        except UnicodeDecodeError:
            continue
