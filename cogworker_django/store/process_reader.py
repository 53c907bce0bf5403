"""Looking at worker processes from outside, and leaving commands for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cogworker_django.core import codec, times
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.store import replies
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.jobset_reader import jid_of, stored_text

AT_ONCE = 200  # processes read in one round trip
SIGNALS_KEPT = 86_400  # seconds that a command waits for its process
SIGNALS_MOST = 1_000  # commands that wait at most, the newest


CANCEL = "cancel "
"""How the command to cancel a job begins that is left for a process; the job's id follows."""


class Signal(StrEnum):
    """What a process can be told (Reference 21)."""

    QUIET = "quiet"
    """Fetch no more."""
    RESUME = "resume"
    """Fetch again."""
    STOP = "stop"
    """Finish what runs and leave."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessState:
    """What one look at a living process shows."""

    identity: str
    info: dict[str, Any]
    """What it tells about itself; empty when that cannot be read."""
    beat_at: float | None
    """Epoch seconds of its last beat, on Redis's clock."""

    @property
    def queues(self) -> list[str]:
        """The names of the queues it reads."""
        queues = self.info.get("queues")
        pairs = queues if isinstance(queues, list) else []
        return [pair[0] for pair in pairs if isinstance(pair, list) and pair and isinstance(pair[0], str)]


class ProcessReader:
    """Every look at processes, and the way to steer them.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def living(self) -> list[ProcessState]:
        """Return the processes whose presence has not expired, in the order of their identities."""
        stamps: dict[bytes, bytes] = self._gateway.call("HGETALL", self._keys.beats)
        beats = {identity.decode(errors="replace"): stamp for identity, stamp in stamps.items()}
        found: list[ProcessState] = []
        for identities in _chunks(sorted(beats)):
            infos = self._gateway.call("MGET", *map(self._keys.process, identities))
            found += [
                ProcessState(identity=identity, info=object_in(info), beat_at=beat_of(beats[identity]))
                for identity, info in zip(identities, infos, strict=True)
                if info is not None
            ]
        return found

    def work(self, identities: Sequence[str]) -> list[tuple[str, list[dict[str, Any]]]]:
        """Read what processes are running, as of their last beats.

        Args:
            identities: of the processes.

        Returns:
            For each its identity and its running jobs (`thread`, `queue`, `run_at`, `payload`).
        """
        found: list[tuple[str, list[dict[str, Any]]]] = []
        for chunk in _chunks(identities):
            works = self._gateway.call("MGET", *map(self._keys.work, chunk))
            found += [(identity, objects_in(work)) for identity, work in zip(chunk, works, strict=True)]
        return found

    def holder(self, jid: str, likely: str | None = None) -> tuple[str, bytes] | None:
        """Search what processes have fetched and not settled for a job, one process at a time.

        Args:
            jid: the job's id.
            likely: the identity of the process to look at first.

        Returns:
            The identity of the process, which may be dead, and the raw job; None when no process holds it.
        """
        identities = self._identities()
        for identity in sorted(identities, key=lambda each: each != likely):
            for raw in self._gateway.run("find_held", (self._keys.in_progress(identity),), (stored_text(jid),)):
                if jid_of(raw) == jid:
                    return identity, raw
        return None

    def runner(self, jid: str) -> tuple[str, float | None] | None:
        """Search what processes have told that they run for a job; they tell late, and of long jobs only.

        Args:
            jid: the job's id.

        Returns:
            The identity of the process, and since when it runs the job, epoch seconds; None when none has told.
        """
        for identity, rows in self.work(self._identities()):
            for row in rows:
                payload = row.get("payload")
                if isinstance(payload, dict) and payload.get("jid") == jid:
                    return identity, times.told(row.get("run_at"))
        return None

    def _identities(self) -> list[str]:
        return [identity.decode(errors="replace") for identity in self._gateway.call("HKEYS", self._keys.beats)]

    def unsettled(self, identities: Sequence[str]) -> dict[str, int]:
        """Count the jobs that processes hold and have not settled; what is damaged counts as none."""
        lengths = replies.each(self._gateway, [("HLEN", self._keys.in_progress(name)) for name in identities])
        return {name: int(replies.or_else(length, 0)) for name, length in zip(identities, lengths, strict=True)}

    def cancel(self, identity: str, jid: str) -> None:
        """Leave the command for a process to cancel a job that it holds.

        Args:
            identity: of the process.
            jid: of the job.
        """
        self._leave(identity, f"{CANCEL}{jid}")

    def signal(self, identity: str, signal: Signal) -> None:
        """Leave a command for a process. It waits up to a day, also while the process is out of touch.

        Args:
            identity: of the process.
            signal: the command.
        """
        self._leave(identity, str(signal))

    def _leave(self, identity: str, command: str) -> None:
        self._gateway.run("signal", (self._keys.signals(identity),), (command, SIGNALS_KEPT, SIGNALS_MOST))


def _chunks(identities: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(identities), AT_ONCE):
        yield identities[first : first + AT_ONCE]


def beat_of(stamp: bytes) -> float | None:
    """Read the time of a process's last beat, epoch seconds; None when it cannot be read."""
    try:
        beat = float(stamp.split()[0])
    except (ValueError, IndexError):
        return None
    return beat if math.isfinite(beat) else None


def _json(raw: bytes | None) -> Any:
    try:
        return codec.parse(raw or b"null")
    except UnreadablePayload:
        return None


def object_in(raw: bytes | None) -> dict[str, Any]:
    """Read a JSON object; an empty one when it is none."""
    value = _json(raw)
    return value if isinstance(value, dict) else {}


def objects_in(raw: bytes | None) -> list[dict[str, Any]]:
    """Read the objects of a JSON array; none when it is none."""
    value = _json(raw)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
