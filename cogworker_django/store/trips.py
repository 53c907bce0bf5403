"""The exchange's round trip: settle what has finished, fetch what is wanted."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from cogworker_django.core.lanes import queue_of
from cogworker_django.store.errors import sensible
from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.guard import KEPT, copy_name
from cogworker_django.store.settlement import Command, Settlement

Gathered = list[tuple[str, Command]]
# Token, id and status of a job that runs.
Note = tuple[str, str, str]
# Tokens in one requeue call.
REQUEUE_BATCH = 1000
TOKEN = re.compile(r"[1-9][0-9]{0,17}:")
"""As a process writes its numbers; another spelling of one would name a second job."""


class Fetched(Protocol):
    """What giving a job back needs to know of it."""

    token: str
    queue: str
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """What a process sends on one trip."""

    progress: str
    """`<started token> <concurrency>`: what recovery needs to know should the process die."""
    done: Sequence[str]
    """Tokens of successes that need no further write."""
    verdicts: Sequence[Settlement]
    notes: Sequence[Note] = ()
    """The statuses of jobs that run."""
    wanted: int
    """How many jobs to fetch at most."""
    waiting: int
    """How many threads are free now: the most to fetch while recovered jobs are about."""
    first: int
    """The number of the first new token; the caller has advanced its counter by `wanted` before the call, so that
    a lost reply cannot make it use one twice."""
    picks: Sequence[tuple[str, int]]
    """Queues in the order to look, and how many to take from each before what is missing is filled up."""
    awaited: float = math.inf
    """Epoch seconds; only an entry of schedule or retry that is due before is worth telling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """What came back from a trip."""

    now: float
    """Redis's time, epoch seconds."""
    due: float | None
    """When the earliest entry of schedule and retry is due, epoch seconds; None if that is not before the time that
    the trip named."""
    orphaned: bool
    """Whether the jobs may have orphan counters, to be deleted when they finish."""
    dry: bool
    """Whether all the queues that may be fetched from are empty now; their bells are silent until a push."""
    paused: frozenset[str]
    results: Sequence[str]
    """For each verdict `settled`, `gone` or the error."""
    errors: Sequence[str]
    """Queues that could not be read."""
    jobs: Sequence[tuple[str, Sequence[bytes]]]
    """Lane and raw jobs, in the order of their tokens."""


class Trips:
    """Makes the trips of one process.

    Args:
        gateway: with a connection of its own.
        identity: of the process.
        reliable: False in basic mode, where no in-progress hash is kept.
        gathered: gives the counter commands for an hour's number.
        lock_ttl: seconds that the lock of a unique job lasts when it goes back to its queue.
        status_ttl: milliseconds that the status of a job lasts.
        history_kept: how many entries of the history are kept.
    """

    def __init__(
        self,
        gateway: Gateway,
        identity: str,
        *,
        reliable: bool,
        gathered: Callable[[float], Gathered],
        lock_ttl: float,
        status_ttl: int = 0,
        history_kept: int = 0,
    ) -> None:
        self._gateway = gateway
        self._identity = identity
        self._gathered = gathered
        self._lock_ttl = lock_ttl
        self._status_ttl = status_ttl
        self._history_kept = history_kept
        self._encoder = msgspec.msgpack.Encoder()
        self.reliable = reliable
        keys = gateway.keys
        self._hash = keys.in_progress(identity)
        self._keys = [self._hash, keys.beats, keys.paused_queues, keys.orphaned, keys.schedule, keys.retry]
        self._keys.append(keys.nothing)

    def exchange(self, trip: Trip, now: float) -> Landing:
        """One round trip.

        Args:
            trip: what to settle and to fetch.
            now: Redis's time as known, for the counters of the hour.

        Raises:
            RedisUnavailable: Redis is away; whether the trip arrived is unknown.
            RedisRefused: it refused all of it.
        """
        packed = self._encoder.encode(
            {
                "prefix": self._gateway.keys.prefix,
                "identity": self._identity,
                "progress": trip.progress,
                "keep": self.reliable,
                "done": trip.done,
                "notes": trip.notes,
                "verdicts": [settlement.packed() for settlement in trip.verdicts],
                "status_ttl": self._status_ttl,
                "history_kept": self._history_kept,
                "gathered": self._gathered(now) if trip.done or trip.verdicts else (),
                "wanted": trip.wanted,
                "waiting": trip.waiting,
                "first": trip.first,
                "picks": trip.picks,
                "awaited": repr(trip.awaited),
            }
        )
        reply = self._gateway.run("exchange", self._keys, (packed,))
        with sensible():
            return _checked(_landing(reply), trip)

    def held(self) -> set[str]:
        """The tokens in the process's hash."""
        fields = self._gateway.call("HKEYS", self._hash)
        with sensible():
            return set(tokens_of(fields))

    def restore(self, jobs: Mapping[str, bytes]) -> str | None:
        """Writes the process's jobs into a fresh hash when a key of another type has taken its place.

        Args:
            jobs: token and raw job of everything that is not settled.

        Returns:
            The type that it had; None when it is a hash, or gone.
        """
        keys = self._gateway.keys
        copy = copy_name(keys, self._hash, time.time())
        args: list[Arg] = [KEPT, *(word for pair in jobs.items() for word in pair)]
        actual = self._gateway.run("restore", (self._hash, copy, keys.nothing), args)
        return None if actual is None else str(actual.decode())

    def raw(self, tokens: Sequence[str]) -> list[bytes | None]:
        """The raw jobs of tokens; None for one that is gone."""
        if not tokens:
            return []
        replies: list[bytes | None] = self._gateway.call("HMGET", self._hash, *tokens)
        return replies

    def give_back(self, deliveries: Sequence[Fetched]) -> set[str]:
        """Puts jobs that were fetched and not started back at the front of their queues, the first one foremost.

        Returns:
            The tokens that are no longer this process's: put back, or taken by others before.
        """
        if not self.reliable:
            self._put_front(deliveries)
            return {delivery.token for delivery in deliveries}
        tokens = [delivery.token for delivery in deliveries]
        _, refused = self._requeue(tokens)
        return set(tokens) - refused.keys()

    def requeue_all(self, deliveries: Sequence[Fetched], keep: Set[str]) -> int:
        """Puts everything that this process holds back at the front of the queues, at its end.

        Args:
            deliveries: what the process knows of; in reliable mode the hash decides instead.
            keep: tokens of jobs that have run; they stay where they are.

        Returns:
            How many were moved.
        """
        if not self.reliable:
            self._put_front(deliveries)
            return len(deliveries)
        return self._requeue(list(self.held() - keep))[0]

    def _requeue(self, tokens: Sequence[str]) -> tuple[int, dict[str, str]]:
        keys = self._gateway.keys
        ordered = sorted(tokens, key=number_of, reverse=True)
        moved = 0
        refused: dict[str, str] = {}
        for first in range(0, len(ordered), REQUEUE_BATCH):
            args: list[Arg] = [keys.prefix, self._lock_ttl, *ordered[first : first + REQUEUE_BATCH]]
            reply = self._gateway.run("requeue", (self._hash, keys.queues, keys.nothing), args)
            moved += reply[0]
            refused |= {token.decode(): error.decode() for token, error in zip(reply[1::2], reply[2::2], strict=True)}
        return moved, refused

    def _put_front(self, deliveries: Sequence[Fetched]) -> None:
        keys = self._gateway.keys
        for delivery in sorted(deliveries, key=lambda each: number_of(each.token), reverse=True):
            lane = lane_in(delivery.token)
            names = (keys.queue(lane), keys.bell(delivery.queue), keys.queues, keys.nothing)
            self._gateway.run("put_front", names, (delivery.queue, delivery.raw))


def tokens_of(fields: Iterable[bytes]) -> list[str]:
    """The delivery tokens among the fields of a hash: what else was put there must not stop those who read it."""
    named = (field.decode(errors="replace") for field in fields)
    return [name for name in named if TOKEN.match(name) and "\ufffd" not in name]


def number_of(token: str) -> int:
    """The number at the head of a delivery token: the order in which jobs were fetched."""
    return int(token.split(":", 1)[0])


def lane_in(token: str) -> str:
    """The lane in a delivery token."""
    return token.split(":", 1)[1]


def queue_in(token: str) -> str:
    """The queue in a delivery token."""
    return queue_of(lane_in(token))


def _checked(landing: Landing, trip: Trip) -> Landing:
    """Refuses an answer to another question: one job with another's token would be run twice, or never."""
    if len(landing.results) != len(trip.verdicts):
        raise ValueError(f"{len(landing.results)} results of {len(trip.verdicts)} verdicts")
    if sum(len(raws) for _, raws in landing.jobs) > trip.wanted:
        raise ValueError("more jobs than were asked for")
    if not {queue_of(lane) for lane, _ in landing.jobs} <= {queue for queue, _ in trip.picks}:
        raise ValueError("jobs of queues that were not asked for")
    return landing


def _landing(reply: list[Any]) -> Landing:
    takes = reply[7:]
    return Landing(
        now=float(reply[0]),
        due=float(reply[1]) if reply[1] else None,
        orphaned=reply[2] == 1,
        dry=reply[3] == 1,
        paused=frozenset(name.decode() for name in reply[4]),
        results=[result.decode(errors="replace") for result in reply[5]],
        errors=[error.decode(errors="replace") for error in reply[6]],
        jobs=[(lane.decode(), raws) for lane, raws in zip(takes[::2], takes[1::2], strict=True)],
    )
