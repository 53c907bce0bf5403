"""The whole installation at one look, for the pages: two round trips, whatever is shown.

Everything is read on its own: what is damaged counts as nothing and hides nothing else. The lists that are read whole
are those of queues and processes; of jobs only numbers, the next one of each queue and what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cogworker_django.store import replies
from cogworker_django.store.attempts import Attempt, attempts_in
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.history import FAILED, SUCCESS, DayCount
from cogworker_django.store.process_reader import ProcessState, beat_of, object_in, objects_in
from cogworker_django.store.queue_reader import members_of
from cogworker_django.store.queue_state import INTAKE, LOOKS, QueueState, looks_at, states_in
from cogworker_django.store.statistics import HourCount, hour_of, number_in

HOUR = 3_600


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a look shall show beyond sizes, queues and processes."""

    work: bool = False
    """What runs."""
    server: bool = False
    """What the server tells about itself."""
    hours: int = 0
    """Counters of the latest hours."""
    days: int = 0
    """Counters of the latest days, UTC."""
    jid: str = ""
    """The status and the failed attempts of one job."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What was seen."""

    now: float
    """Redis's time, epoch seconds."""
    processed: int
    failed: int
    scheduled_size: int
    retry_size: int
    dead_size: int
    queues: list[QueueState]
    """By name: those that are listed, and those that are paused."""
    intake_paused: bool
    paused: frozenset[str]
    """The queues that are paused on their own."""
    processes: list[ProcessState]
    """The living ones, by identity."""
    silent: Mapping[str, float | None]
    """Processes without presence that were not taken off yet: identity and last beat, epoch seconds."""
    work: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Identity of the process, and a running job (`thread`, `queue`, `run_at`, `payload`)."""
    server: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `INFO`; empty when it may not be asked."""
    hours: list[HourCount] = field(default_factory=list)
    days: list[DayCount] = field(default_factory=list)
    """Each of the days, oldest first, with zeros for idle ones."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Of the job that was asked for; empty when there is none."""
    attempts: list[Attempt] = field(default_factory=list)
    """Its failed attempts, oldest first."""


class SnapshotReader:
    """Reads snapshots.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def look(self, wanted: Wanted) -> Snapshot:
        """Look at everything.

        Args:
            wanted: what shall be shown beyond the rest.

        Raises:
            RedisUnavailable: Redis is away.
        """
        keys = self._keys
        first: list[replies.Command] = [
            ("TIME",),
            ("MGET", keys.processed, keys.failed),
            *(("ZCARD", key) for key in (keys.schedule, keys.retry, keys.dead)),
            ("SMEMBERS", keys.queues),
            ("SMEMBERS", keys.paused_queues),
            ("HGETALL", keys.beats),
        ]
        first.append(("INFO",) if wanted.server else ("TIME",))
        first.append(("GET", keys.status(wanted.jid)))
        first.append(("LRANGE", keys.attempts(wanted.jid), 0, -1))
        found = replies.each(self._gateway, first)
        time, totals, scheduled, retry, dead, listed, stopped, beats, server, status, attempts = found
        now, paused = replies.seconds(time), members_of(replies.or_else(stopped, ()))
        processed, failed = (number_in(total) for total in replies.or_else(totals, (None, None)))
        names = sorted((members_of(replies.or_else(listed, ())) | paused) - {INTAKE})
        stamps = {name.decode(errors="replace"): stamp for name, stamp in replies.or_else(beats, {}).items()}
        more = self._more(wanted, now, names, paused, stamps)
        return Snapshot(
            now=now,
            processed=processed,
            failed=failed,
            scheduled_size=number_in(scheduled),
            retry_size=number_in(retry),
            dead_size=number_in(dead),
            intake_paused=INTAKE in paused,
            paused=paused - {INTAKE},
            server=_info(server) if wanted.server else {},
            status=object_in(replies.or_else(status, None)) if wanted.jid else {},
            attempts=attempts_in(replies.or_else(attempts, ())) if wanted.jid else [],
            **more,
        )

    def _more(
        self, wanted: Wanted, now: float, names: list[str], paused: frozenset[str], stamps: dict[str, bytes]
    ) -> dict[str, Any]:
        """The second round trip: what the first one has named."""
        keys, identities = self._keys, sorted(stamps)
        hours, days = _hours(now, wanted.hours), _days(now, wanted.days)
        commands: list[replies.Command] = [*looks_at(keys, names)]
        if identities:
            commands.append(("MGET", *map(keys.process, identities)))
            commands.append(("MGET", *map(keys.work, identities)) if wanted.work else ("TIME",))
        commands += (("HMGET", keys.throughput(hour), "processed", "failed") for hour in hours)
        commands += (("HMGET", keys.daily(day), SUCCESS, FAILED) for day in days)
        found = replies.each(self._gateway, commands) if commands else []
        queues, found = found[: LOOKS * len(names)], found[LOOKS * len(names) :]
        infos, works = found[:2] if identities else ([], [])
        counts = found[2 if identities else 0 :]
        processes = _processes(identities, stamps, replies.or_else(infos, ()))
        living = {process.identity for process in processes}
        return {
            "queues": states_in(names, queues, paused, now),
            "processes": processes,
            "silent": {name: beat_of(stamps[name]) for name in identities if name not in living},
            "work": _work(identities, replies.or_else(works, ())) if wanted.work else [],
            "hours": [
                HourCount(start=hour * HOUR, **_pair(count, "processed"))
                for hour, count in zip(hours, counts, strict=False)
            ],
            "days": [
                DayCount(day=day, **_pair(count, SUCCESS))
                for day, count in zip(days, counts[len(hours) :], strict=False)
            ],
        }


def _info(replied: Any) -> Mapping[str, Any]:
    info: dict[str, Any] = replies.or_else(replied, {})
    values = list(info.values())
    # A Cluster answers with one of each node.
    return values[0] if values and all(isinstance(value, dict) for value in values) else info


def _hours(now: float, number: int) -> list[int]:
    return [hour_of(now) - ago for ago in reversed(range(number))]


def _days(now: float, number: int) -> list[str]:
    today = datetime.fromtimestamp(now, UTC)
    return [(today - timedelta(days=ago)).strftime("%Y-%m-%d") for ago in reversed(range(number))]


def _pair(count: Any, first: str) -> dict[str, Any]:
    done, failed = (number_in(number) for number in replies.or_else(count, (None, None)))
    return {first: done, "failed": failed}


def _processes(identities: list[str], stamps: dict[str, bytes], infos: Sequence[bytes | None]) -> list[ProcessState]:
    return [
        ProcessState(identity=identity, info=object_in(info), beat_at=beat_of(stamps[identity]))
        for identity, info in zip(identities, infos, strict=False)
        if info is not None
    ]


def _work(identities: list[str], works: Sequence[bytes | None]) -> list[tuple[str, dict[str, Any]]]:
    return [(identity, job) for identity, work in zip(identities, works, strict=False) for job in objects_in(work)]
