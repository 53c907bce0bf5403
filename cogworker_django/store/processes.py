"""A process's own presence: beats, what it runs, its commands, its leave."""

from __future__ import annotations

from dataclasses import dataclass

from cogworker_django.store.gateway import Gateway


@dataclass(frozen=True, kw_only=True)
class BeatReply:
    """What a beat brought back."""

    now: float
    """Redis's time, epoch seconds."""
    commands: tuple[str, ...]
    """What the process was told to do, in order: `quiet`, `resume`, `stop`."""


class Processes:
    """Writes what processes tell about themselves.

    Args:
        gateway: to Redis.
        presence_ttl: seconds that a process is shown after its last beat.
    """

    def __init__(self, gateway: Gateway, *, presence_ttl: float) -> None:
        self._gateway = gateway
        self._ttl = int(presence_ttl * 1000)

    def beat(self, identity: str, *, progress: str, info: bytes, read_commands: bool) -> BeatReply:
        """Says that the process lives, on Redis's clock (reference, section 21).

        Args:
            identity: of the process.
            progress: `<started token> <concurrency>`, kept beside the stamp.
            info: JSON about the process.
            read_commands: whether to take its pending commands along.
        """
        keys = self._gateway.keys
        reply = self._gateway.run(
            "beat",
            (keys.beats, keys.process(identity), keys.signals(identity), keys.nothing),
            (identity, progress, info, self._ttl, int(read_commands)),
        )
        return BeatReply(now=float(reply[0]), commands=tuple(word.decode(errors="replace") for word in reply[1:]))

    def publish_work(self, identity: str, work: bytes | None) -> None:
        """Writes what the process is running as JSON; None when it runs nothing."""
        keys = self._gateway.keys
        if work is None:
            self._gateway.call("DEL", keys.work(identity))
        else:
            self._gateway.run("publish_work", (keys.work(identity), keys.nothing), (work, self._ttl))

    def list_queues(self, names: list[str]) -> None:
        """Makes queues known that may not have had a job yet (reference, E12)."""
        self._gateway.call("SADD", self._gateway.keys.queues, *names)

    def forget(self, identity: str) -> bool:
        """Takes the process off after a clean stop.

        Returns:
            False when unsettled jobs are left, which wait for recovery by others.
        """
        keys = self._gateway.keys
        names = (keys.in_progress(identity), keys.beats, keys.process(identity), keys.work(identity))
        return bool(self._gateway.run("forget", (*names, keys.signals(identity)), (identity,)))
