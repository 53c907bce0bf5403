"""The sets of jobs that are scheduled, wait for a retry, or are dead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from cogworker_django.api.door import in_current_zone, opened
from cogworker_django.api.record import JobRecord
from cogworker_django.core import times
from cogworker_django.core.errors import LockHeld, RedisRefused, UnreadablePayload
from cogworker_django.store.graduation import INVALID
from cogworker_django.store.jobsets import GONE, HELD, MOVED, Entry, SetName
from cogworker_django.store.store import Store


class SetEntry(JobRecord):
    """A job in one of the sets."""

    def __init__(self, entry: Entry, name: SetName, store: Store) -> None:
        super().__init__(entry.member)
        self.score = entry.score
        """Epoch seconds: when it is due, or when it died."""
        self._name = name
        self._store = store

    @property
    def at(self) -> datetime:
        """The score as an aware datetime, UTC."""
        return datetime.fromtimestamp(min(max(self.score, times.EARLIEST), times.LATEST), UTC)

    def retry(self) -> bool:
        """Put the job on its queue now.

        Returns:
            Whether it was still there.

        Raises:
            LockHeld: it is unique, and another job like it waits or runs; it stays where it is.
            UnreadablePayload: it is no job that names a queue; it stays where it is.
            RedisRefused: its queue cannot be written; it stays where it is.
        """
        (outcome,) = self._store.graduation.requeue(self._name, [self.value])
        if outcome == INVALID:
            raise UnreadablePayload(f"Job {self.jid} cannot be retried: it names no queue. Delete it instead.")
        return self._moved(outcome)

    def delete(self) -> bool:
        """Delete the job, its lock and the records of it; return whether it was still there."""
        return self._store.jobsets.remove(self._name, [self.value]) == 1

    def kill(self) -> bool:
        """Move the job to the dead ones.

        Returns:
            Whether it was still there; False for one that is dead already.

        Raises:
            RedisRefused: the dead set cannot be written; the job stays where it is.
        """
        if self._name is SetName.DEAD:
            return False
        return self._moved(self._store.jobsets.kill(self._name, [self.value])[0])

    def reschedule(self, when: datetime | float | timedelta) -> bool:
        """Give the job another due time. A dead one goes to the retries with it.

        Args:
            when: an aware datetime, a naive one in the current zone, epoch seconds, or a timedelta from now on
                Redis's clock.

        Returns:
            Whether it was still there.

        Raises:
            LockHeld: it is dead and unique, and another job like it waits or runs; it stays where it is.
        """
        if isinstance(when, timedelta):
            return self._moved(self._store.jobsets.reschedule(self._name, self.value, delay=when.total_seconds()))
        due = times.due(when, in_current_zone)
        return self._moved(self._store.jobsets.reschedule(self._name, self.value, at=due))

    def _moved(self, outcome: str) -> bool:
        if outcome.startswith(HELD):
            raise LockHeld(self.jid, outcome.removeprefix(HELD))
        if outcome not in (MOVED, GONE):
            raise RedisRefused(f"Redis refused to move the job: {outcome}")
        return outcome == MOVED


class JobSet:
    """What the three sets have in common: iterate for the entries, in pages.

    Args:
        store: where to look; by default the current runtime's.
    """

    set_name: ClassVar[SetName]
    newest_first: ClassVar[bool] = False

    def __init__(self, store: Store | None = None) -> None:
        self._store = opened(store)

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self._store.jobsets.size(self.set_name)

    def __iter__(self) -> Iterator[SetEntry]:
        """Go through the entries; what stays comes once, whatever is added or deleted meanwhile."""
        for entry in self._store.jobsets.walk(self.set_name, newest_first=self.newest_first):
            yield self._entry(entry)

    def page(self, start: int, stop: int) -> list[SetEntry]:
        """Read the entries from one rank to another, both included, counted from 0 as iteration goes."""
        entries = self._store.jobsets.page(self.set_name, start, stop, newest_first=self.newest_first)
        return [self._entry(entry) for entry in entries]

    def find(self, jid: str) -> SetEntry | None:
        """Search for a job by its id, in short steps; the whole set is looked at when it is not there."""
        entry = self._store.jobsets.find(self.set_name, jid)
        return None if entry is None else self._entry(entry)

    def retry_all(self) -> int:
        """Put all jobs that are there now on their queues, 1,000 a step.

        Returns:
            How many were moved; those that name no queue, or one that cannot be written, stay, and so do unique
            ones when another job like them waits or runs.
        """
        return self._all(lambda members: _counted(self._store.graduation.requeue(self.set_name, members)))

    def clear(self) -> int:
        """Delete all jobs that are there now and what else is kept of them, 1,000 a step; return how many."""
        return self._all(lambda members: (self._store.jobsets.remove(self.set_name, members), 0))

    def _entry(self, entry: Entry) -> SetEntry:
        return SetEntry(entry, self.set_name, self._store)

    def _all(self, act: Callable[[list[bytes]], tuple[int, int]]) -> int:
        """Do something to all entries in steps, so that no single call is long.

        Args:
            act: does it to some, and tells how many of them left the set and how many are still there.

        Returns:
            How many left the set.
        """
        todo, seen, stay, left = self.size, 0, 0, 0
        while seen < todo:
            _, entries = self._store.jobsets.lowest(self.set_name, skip=stay)
            if not entries:
                break
            went, stayed = act([entry.member for entry in entries])
            seen, left, stay = seen + len(entries), left + went, stay + stayed
        return left

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class ScheduledSet(JobSet):
    """Jobs with a due time that have not run yet, the earliest first."""

    set_name = SetName.SCHEDULE


class RetrySet(JobSet):
    """Jobs that failed and will run again, the earliest first."""

    set_name = SetName.RETRY

    def kill_all(self) -> int:
        """Move all jobs that are there now to the dead ones, 1,000 a step; return how many."""
        return self._all(lambda members: _counted(self._store.jobsets.kill(self.set_name, members)))


class DeadSet(JobSet):
    """Jobs that will not run again by themselves, the latest death first."""

    set_name = SetName.DEAD
    newest_first = True


def _counted(outcomes: list[str]) -> tuple[int, int]:
    moved = outcomes.count(MOVED)
    return moved, len(outcomes) - moved - outcomes.count(GONE)
