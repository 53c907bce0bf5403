"""Taking jobs from the sets to their queues: when they are due, and when somebody retries them by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cogworker_django.core import codec, names, payload
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.lanes import lane_of
from cogworker_django.store.jobset_reader import names_in
from cogworker_django.store.jobsets import AT_ONCE, GONE, MOVED, Entry, JobSets, Promotion, SetName

POSTPONED_FOR = 60.0  # seconds until an entry that its queue refused is tried again (Reference 14)
INVALID = "invalid"


@dataclass(kw_only=True, slots=True)
class Pass:
    """What became of one batch of due entries."""

    now: float
    """Redis's time when the batch was read, epoch seconds."""
    found: int = 0
    """How many entries were due; 0 ends the work."""
    moved: int = 0
    gone: int = 0
    """Taken meanwhile by another process."""
    buried: list[bytes] = field(default_factory=list)
    """What was no job and went to dead, as it was stored."""
    postponed: list[str] = field(default_factory=list)
    """The errors of entries that wait for another minute."""


class Graduation:
    """Moves entries from the sets to their queues.

    The payload is stamped anew here, not in Lua, which would spoil large integers (Reference 9.11).

    Args:
        jobsets: the sets.
    """

    def __init__(self, jobsets: JobSets) -> None:
        self._jobsets = jobsets

    def due(self, name: SetName, limit: int = AT_ONCE) -> Pass:
        """Move one batch of due entries. What is no job goes to dead, what its queue refuses waits a minute.

        Args:
            name: `SCHEDULE` or `RETRY`.
            limit: the most to move, up to 1,000.

        Raises:
            RedisUnavailable: Redis is away; what has been moved stays moved.
            RedisRefused: the set itself cannot be read or written.
        """
        now, entries = self._jobsets.due(name, limit)
        result = Pass(now=now, found=len(entries))
        sound, damaged = _sorted_out(entries, now)
        refused: dict[bytes, str] = {}
        if sound:
            outcomes = self._jobsets.promote(name, sound)
            result.moved = outcomes.count(MOVED)
            refused |= _refused([promotion.member for promotion in sound], outcomes)
        if damaged:
            outcomes = self._jobsets.bury(name, damaged)
            members = [entry[0] for entry in damaged]
            result.buried = [raw for raw, outcome in zip(members, outcomes, strict=True) if outcome == MOVED]
            refused |= _refused(members, outcomes)
        if refused:
            self._jobsets.postpone(name, list(refused), POSTPONED_FOR)
            result.postponed = list(refused.values())
        result.gone = result.found - result.moved - len(result.buried) - len(result.postponed)
        return result

    def requeue(self, name: SetName, members: Sequence[bytes]) -> list[str]:
        """Move entries to their queues now, because somebody wants it.

        Args:
            name: the set.
            members: the entries as stored, at most 1,000.

        Returns:
            For each `"moved"`, `"gone"`, `"invalid"` when it is no job that names a queue, `"held by "` and the id of
            the job that holds its lock, or the error that kept it in place; what has not moved is untouched.
        """
        now = self._jobsets.now()
        sound, _ = _sorted_out([Entry(member, now) for member in members], now)
        # What waits for its time holds its lock; but it may have lapsed, and a dead job has none.
        sound = [Promotion(*promotion[:3], *names_in(promotion.member)) for promotion in sound]
        outcomes = dict.fromkeys(members, INVALID)
        moved = self._jobsets.promote(name, sound) if sound else []
        outcomes |= {promotion.member: outcome for promotion, outcome in zip(sound, moved, strict=True)}
        return [outcomes[member] for member in members]


def routed(raw: bytes, now: float) -> tuple[str, bytes]:
    """Prepare an entry for its queue: everything as it was, `enqueued_at` now.

    Args:
        raw: the entry as stored.
        now: epoch seconds.

    Returns:
        The lane and the payload to push.

    Raises:
        UnreadablePayload: it is no JSON object, or names no queue that a worker could read.
    """
    item = codec.decode(raw)
    queue = item.get("queue")
    try:
        names.check_queue(queue)
    except (TypeError, ValueError) as error:
        raise UnreadablePayload(f"the payload names no queue: {error}") from None
    item["enqueued_at"] = now
    return lane_of(item, str(queue)), codec.encode(item)


def _sorted_out(entries: Sequence[Entry], now: float) -> tuple[list[Promotion], list[tuple[bytes, bytes]]]:
    """Divide entries into those to promote and those to bury, each as the script takes it."""
    sound: list[Promotion] = []
    damaged: list[tuple[bytes, bytes]] = []
    for entry in entries:
        try:
            sound.append(Promotion(entry.member, *routed(entry.member, now)))
        except UnreadablePayload as error:
            damaged.append((entry.member, codec.encode(payload.unreadable(entry.member, None, error, now))))
    return sound, damaged


def _refused(members: Sequence[bytes], outcomes: Sequence[str]) -> dict[bytes, str]:
    pairs = zip(members, outcomes, strict=True)
    return {member: outcome for member, outcome in pairs if outcome not in (MOVED, GONE)}
