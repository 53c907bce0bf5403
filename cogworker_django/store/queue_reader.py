"""Looking at queues and steering them: sizes, pages, deleting, clearing, pausing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.lanes import lane_of
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.jobset_reader import BYTES_AT_ONCE, jid_of, names_in, stored_text
from cogworker_django.store.queue_state import INTAKE, QueueState, looks_at, states_in

PAGE = 50  # jobs per step when somebody walks through a queue (Reference 33)
SEARCHED_AT_ONCE = 2_000  # jobs that one step of a search looks at: a few milliseconds of the server's time
CLEAR_STEP = 1_000  # jobs that one call deletes: far below 100 ms
STATES_AT_ONCE = 100  # queues looked at in one round trip


class QueueReader:
    """Every look at queues, and every change other than pushing and fetching.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def names(self) -> list[str]:
        """Return the names of all listed queues, sorted."""
        return sorted(members_of(self._gateway.call("SMEMBERS", self._keys.queues)))

    def states(self, names: Sequence[str]) -> list[QueueState]:
        """Look at queues, 100 in a round trip; what is damaged counts as empty.

        Args:
            names: which, in the order wanted.
        """
        found: list[QueueState] = []
        for first in range(0, len(names), STATES_AT_ONCE):
            found += self._states(names[first : first + STATES_AT_ONCE])
        return found

    def size(self, name: str) -> int:
        """Count the jobs of a queue."""
        return sum(self._lengths(name).values())

    def page(self, name: str, start: int, stop: int) -> list[bytes]:
        """Read raw jobs from one position to another, both included, counted from 0 or, if negative, from the end.

        The one that runs next is the last of all: within a lane the newest is first, and jobs that wait for all others
        come before these.
        """
        lengths = self._lengths(name)
        total, before = sum(lengths.values()), 0
        start, stop = (max(each + total, 0) if each < 0 else each for each in (start, stop))
        raws: list[bytes] = []
        for key, length in reversed(lengths.items()):
            first, last = max(start - before, 0), min(stop - before, length - 1)
            if first <= last:
                raws += self._gateway.call("LRANGE", key, first, last)
            before += length
        return raws

    def walk(self, name: str, size: int = PAGE) -> Iterator[bytes]:
        """Go through a queue in pages, in the order of `page`.

        No job that stays is passed over while others are pushed, fetched or deleted; one may come twice.

        Args:
            name: the queue.
            size: jobs per page.
        """
        return self._read(name, size, "")

    def delete(self, name: str, jid: str) -> bool:
        """Delete a job from a queue.

        Args:
            name: the queue.
            jid: the job's id.

        Returns:
            Whether it was found.
        """
        raw = self.find(name, jid)
        return raw is not None and self.remove(name, raw)

    def find(self, name: str, jid: str) -> bytes | None:
        """Search a queue for a job, in steps of a few milliseconds of the server's time each.

        Args:
            name: the queue.
            jid: the job's id.

        Returns:
            The job as it lies there; None when it does not.
        """
        for raw in self._read(name, SEARCHED_AT_ONCE, stored_text(jid)):
            if jid_of(raw) == jid:
                return raw
        return None

    def remove(self, name: str, raw: bytes) -> bool:
        """Delete one job with exactly these bytes, and what else is kept of it: its lock, failed attempts, status.

        Returns:
            Whether there was one.
        """
        args = (self._keys.prefix, raw, *names_in(raw))
        return bool(self._gateway.run("delete_job", (self._keys.queue(_lane(name, raw)),), args))

    def clear(self, name: str) -> int:
        """Delete the jobs that a queue has now, 1,000 a call, and take it off the list of queues.

        Returns:
            How many were deleted.
        """
        # At least one call, which takes an empty queue off the list.
        lengths = {self._keys.queue(name): 0} | self._lengths(name)
        return sum(self._clear(name, key, length) for key, length in lengths.items())

    def _clear(self, name: str, key: str, todo: int) -> int:
        keys, total = (key, self._keys.bell(name), self._keys.queues), 0
        while True:
            step = min(CLEAR_STEP, max(todo - total, 0))
            removed = int(self._gateway.run("clear_queue", keys, (name, self._keys.prefix, step, BYTES_AT_ONCE)))
            total += removed
            if total >= todo or not removed:
                return total

    def paused(self) -> frozenset[str]:
        """Return the names of paused queues; `*` among them when all intake is paused."""
        return members_of(self._gateway.call("SMEMBERS", self._keys.paused_queues))

    def pause(self, name: str = INTAKE) -> bool:
        """Stop all processes from fetching from a queue, or from any, at once and also those started later.

        Returns:
            Whether it was not paused before.
        """
        return bool(self._gateway.call("SADD", self._keys.paused_queues, name))

    def resume(self, name: str = INTAKE) -> bool:
        """Take the pause of a queue, or that of all intake, back and wake the workers.

        Returns:
            Whether it was paused.
        """
        paused = self.paused() - {name}
        woken = [queue for queue in (self.names() if name == INTAKE else [name]) if queue not in paused]
        args = (self._keys.prefix, name, *(woken if INTAKE not in paused else ()))
        return bool(self._gateway.run("resume", (self._keys.paused_queues,), args))

    def _read(self, name: str, number: int, text: str) -> Iterator[bytes]:
        """Go through a queue in parts of so many jobs, giving those that contain a text."""
        for key in reversed(self._lengths(name)):
            yield from self._read_lane(key, number, text)

    def _read_lane(self, key: str, number: int, text: str) -> Iterator[bytes]:
        start, known = 0, ""
        while True:
            args = (start, known, number, BYTES_AT_ONCE, text)
            known, start, *raws = self._gateway.run("queue_page", (key,), args)
            yield from raws
            if start >= known:
                return

    def _lengths(self, name: str) -> dict[str, int]:
        """The lists of a queue that hold jobs, in the order in which they are fetched, and how many each holds.

        Raises:
            RedisRefused: one of them is damaged.
        """
        keys = self._keys.lanes(name)
        lengths = self._gateway.pipeline([("LLEN", key) for key in keys])
        return {key: int(length) for key, length in zip(keys, lengths, strict=True) if length}

    def _states(self, names: Sequence[str]) -> list[QueueState]:
        commands: list[replies.Command] = [("TIME",), ("SMEMBERS", self._keys.paused_queues)]
        time, members, *looks = replies.each(self._gateway, [*commands, *looks_at(self._keys, names)])
        return states_in(names, looks, members_of(replies.or_else(members, ())), replies.seconds(time))


def _lane(name: str, raw: bytes) -> str:
    """Where a job of a queue lies; what cannot be read has no priority."""
    try:
        return lane_of(codec.decode(raw), name)
    except UnreadablePayload:
        return name


def members_of(reply: Iterable[bytes]) -> frozenset[str]:
    """Read the reply of `SMEMBERS`."""
    return frozenset(member.decode(errors="replace") for member in reply)
