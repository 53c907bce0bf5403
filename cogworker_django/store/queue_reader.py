"""Looking at queues and steering them: sizes, pages, deleting, clearing, pausing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cogworker_django.core import codec, times
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.jobset_reader import BYTES_AT_ONCE, jid_of, names_in, stored_text

PAGE = 50  # jobs per step when somebody walks through a queue (Reference 33)
SEARCHED_AT_ONCE = 2_000  # jobs that one step of a search looks at: a few milliseconds of the server's time
CLEAR_STEP = 1_000  # jobs that one call deletes: far below 100 ms
STATES_AT_ONCE = 200  # queues looked at in one round trip
INTAKE = "*"  # the member of the paused set that pauses all queues; no queue can have this name


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    """What one look at a queue shows."""

    name: str
    size: int
    latency: float
    """Seconds that its next job has waited; 0 when there is none or it does not tell."""
    paused: bool
    """Whether this queue is paused, be it by the pause of all intake."""


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
        """Look at queues, 200 in a round trip; what is damaged counts as empty.

        Args:
            names: which, in the order wanted.
        """
        found: list[QueueState] = []
        for first in range(0, len(names), STATES_AT_ONCE):
            found += self._states(names[first : first + STATES_AT_ONCE])
        return found

    def size(self, name: str) -> int:
        """Count the jobs of a queue."""
        return int(self._gateway.call("LLEN", self._keys.queue(name)))

    def page(self, name: str, start: int, stop: int) -> list[bytes]:
        """Read raw jobs, newest first, from one position to another, both included and counted from 0."""
        raws: list[bytes] = self._gateway.call("LRANGE", self._keys.queue(name), start, stop)
        return raws

    def walk(self, name: str, size: int = PAGE) -> Iterator[bytes]:
        """Go through a queue in pages, newest first.

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
        for raw in self._read(name, SEARCHED_AT_ONCE, stored_text(jid)):
            if jid_of(raw) == jid:
                return self.remove(name, raw)
        return False

    def remove(self, name: str, raw: bytes) -> bool:
        """Delete one job with exactly these bytes, and what else is kept of it: its lock, failed attempts, status.

        Returns:
            Whether there was one.
        """
        args = (self._keys.prefix, raw, *names_in(raw))
        return bool(self._gateway.run("delete_job", (self._keys.queue(name),), args))

    def clear(self, name: str) -> int:
        """Delete the jobs that a queue has now, 1,000 a call, and take it off the list of queues.

        Returns:
            How many were deleted.
        """
        keys = (self._keys.queue(name), self._keys.bell(name), self._keys.queues)
        todo, total = self.size(name), 0
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
        start, known, key = 0, "", self._keys.queue(name)
        while True:
            args = (start, known, number, BYTES_AT_ONCE, text)
            known, start, *raws = self._gateway.run("queue_page", (key,), args)
            yield from raws
            if start >= known:
                return

    def _states(self, names: Sequence[str]) -> list[QueueState]:
        commands: list[replies.Command] = [("TIME",), ("SMEMBERS", self._keys.paused_queues)]
        for name in names:
            commands += (("LLEN", self._keys.queue(name)), ("LINDEX", self._keys.queue(name), -1))
        time, members, *looks = replies.each(self._gateway, commands)
        now = replies.seconds(time)
        paused = members_of(replies.or_else(members, ()))
        return [
            QueueState(
                name=name,
                size=int(replies.or_else(size, 0)),
                latency=latency_of(replies.or_else(following, None), now),
                paused=name in paused or INTAKE in paused,
            )
            for name, size, following in zip(names, looks[::2], looks[1::2], strict=True)
        ]


def members_of(reply: Iterable[bytes]) -> frozenset[str]:
    """Read the reply of `SMEMBERS`."""
    return frozenset(member.decode(errors="replace") for member in reply)


def latency_of(raw: Any, now: float) -> float:
    """Tell how many seconds the next job of a queue has waited; 0 when there is none or it does not tell."""
    if raw is None:
        return 0.0
    try:
        item = codec.decode(raw)
    except UnreadablePayload:
        return 0.0
    for field in ("enqueued_at", "created_at"):
        since = times.told(item.get(field))
        if since is not None:
            return max(0.0, now - since)
    return 0.0
