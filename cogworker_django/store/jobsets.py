"""Changing the sorted sets of jobs that wait: `schedule` and `retry` for their time, `dead` for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cogworker_django.store.gateway import Arg, Gateway
from cogworker_django.store.jobset_reader import AT_ONCE, Entry, JobSetReader, SetName, names_in
from cogworker_django.store.settlement import Command
from cogworker_django.store.statistics import HOUR_KEPT

__all__ = ["AT_ONCE", "GONE", "HELD", "MOVED", "Entry", "JobSets", "Promotion", "SetName"]

MOVED = "moved"
GONE = "gone"
HELD = "held by "


class Promotion(NamedTuple):
    """An entry on its way to its queue."""

    member: bytes
    """As stored."""
    lane: str
    """Of its queue (`core.lanes`)."""
    payload: bytes
    """What to push."""
    jid: str = ""
    digest: str = ""
    """Of the lock that it must take for this: retried by hand, a unique job may have lost its lock."""


class JobSets(JobSetReader):
    """Every read and every change of the sets. No call handles more than 1,000 entries.

    Args:
        gateway: to Redis.
        dead_max_jobs: how many dead jobs are kept, the newest.
        dead_max_age: for how many seconds they are kept.
        lock_ttl: seconds that the lock of a unique job lasts after its due time.
    """

    def __init__(self, gateway: Gateway, *, dead_max_jobs: int, dead_max_age: float, lock_ttl: float) -> None:
        super().__init__(gateway)
        self._lock_ttl = lock_ttl
        self.dead_max_jobs = dead_max_jobs
        self.dead_max_age = dead_max_age

    def promote(self, name: SetName, entries: Sequence[Promotion]) -> list[str]:
        """Move entries to their queues and wake workers for them (Reference 9.11).

        Args:
            name: the set.
            entries: what to move.

        Returns:
            For each `"moved"`, `"gone"` when it was no longer there, `"held by "` and the id of the job whose lock
            keeps it in place, or the error that does.
        """
        keys = self._keys
        args: list[Arg] = [keys.prefix, self._lock_ttl]
        for entry in entries:
            args += entry
        return _outcomes(self._gateway.run("promote", (self._of[name], keys.queues, keys.nothing), args))

    def bury(self, name: SetName, entries: Sequence[tuple[bytes, bytes]]) -> list[str]:
        """File entries that are no jobs in `dead` and count them as failed (Reference 9.12).

        Args:
            name: `SCHEDULE` or `RETRY`.
            entries: the entry as stored and its readable wrapper.

        Returns:
            As `promote`.
        """
        keys = self._keys
        args: list[Arg] = [keys.prefix, self.dead_max_jobs, self.dead_max_age, HOUR_KEPT]
        for entry in entries:
            args += entry
        names = (self._of[name], keys.dead, keys.failed, keys.nothing)
        return _outcomes(self._gateway.run("bury", names, args))

    def kill(self, name: SetName, members: Sequence[bytes]) -> list[str]:
        """Move entries to `dead` as they are.

        Args:
            name: `SCHEDULE` or `RETRY`.
            members: the entries as stored.

        Returns:
            As `promote`.
        """
        keys = (self._of[name], self._keys.dead, self._keys.nothing)
        return _outcomes(
            self._gateway.run("kill", keys, (self._keys.prefix, self.dead_max_jobs, self.dead_max_age, *members))
        )

    def postpone(self, name: SetName, members: Sequence[bytes], seconds: float) -> int:
        """Make entries due some seconds from now on Redis's clock, if they are still there.

        Args:
            name: the set.
            members: the entries as stored.
            seconds: from now.

        Returns:
            How many were postponed.
        """
        return int(self._gateway.run("postpone", (self._of[name], self._keys.nothing), (seconds, *members)))

    def reschedule(self, name: SetName, member: bytes, *, at: float | None = None, delay: float = 0.0) -> str:
        """Give an entry another due time. A dead one goes to `retry` with it.

        Args:
            name: the set.
            member: the entry as stored; its bytes stay as they are, whatever its `at` says.
            at: epoch seconds; None for `delay`.
            delay: seconds from now on Redis's clock.

        Returns:
            As `promote`: a dead unique job must take its lock again.
        """
        destination = SetName.RETRY if name is SetName.DEAD else name
        keys = (self._of[name], self._of[destination], self._keys.schedule_bell, self._keys.nothing)
        when = ("in", delay) if at is None else ("at", at)
        args = (member, *when, self._keys.prefix, *names_in(member), self._lock_ttl)
        return str(self._gateway.run("reschedule", keys, args).decode(errors="replace"))

    def remove(self, name: SetName, members: Sequence[bytes]) -> int:
        """Delete entries together with what else is kept of their jobs: locks, failed attempts, status.

        Args:
            name: the set.
            members: the entries as stored.

        Returns:
            How many were still there.
        """
        args: list[Arg] = [self._keys.prefix]
        for member in members:
            args += (member, *names_in(member))
        return int(self._gateway.run("remove", (self._of[name],), args))

    def trim_dead(self) -> int:
        """Delete up to 1,000 dead jobs above the number or the age that are kept, and return how many."""
        limits = (self.dead_max_jobs, self.dead_max_age)
        return int(self._gateway.run("trim_dead", (self._keys.dead,), limits))

    def dead_trim_commands(self, now: float) -> list[Command]:
        """Build the commands that keep `dead` within its limits, for whoever has just filed a job there.

        Their cost depends on how much goes, not on how much there is.

        Args:
            now: Redis's time, epoch seconds.
        """
        dead, oldest = self._keys.dead, now - self.dead_max_age
        return [
            ["ZREMRANGEBYRANK", dead, 0, -(self.dead_max_jobs + 1)],
            ["ZREMRANGEBYSCORE", dead, "-inf", f"({oldest:.6f}"],
        ]


def _outcomes(reply: Sequence[Any]) -> list[str]:
    return [outcome.decode(errors="replace") for outcome in reply]
