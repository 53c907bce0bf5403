"""Periodic entries, as the processes that know them show them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from cogworker_django.api.door import opened
from cogworker_django.core.cron import Cron
from cogworker_django.core.errors import LockHeld
from cogworker_django.core.payload import PERIODIC_NAME
from cogworker_django.core.unique import digest_of
from cogworker_django.runtime import current
from cogworker_django.store.store import Store


class PeriodicEntry:
    """One entry, as it was when it was read."""

    def __init__(
        self,
        name: str,
        shown: dict[str, Any],
        *,
        slot: int | None,
        enabled: bool,
        run: dict[str, Any],
        reason: dict[str, Any],
        now: float,
        store: Store,
    ) -> None:
        self.name = name
        self.cron = str(shown.get("cron", ""))
        """The expression."""
        self.timezone = str(shown.get("timezone", ""))
        self.job = str(shown.get("job", ""))
        """The job's name."""
        args, kwargs = shown.get("args"), shown.get("kwargs")
        self.args: list[Any] = args if isinstance(args, list) else []
        self.kwargs: dict[str, Any] = kwargs if isinstance(kwargs, dict) else {}
        self.options = {name: shown[name] for name in ("queue", "retry", "unique") if name in shown}
        """What the entry sets of the job's options."""
        self.enabled = enabled
        self.last_slot = None if slot is None else datetime.fromtimestamp(slot, UTC)
        """The last time that was fired, or passed over."""
        self.last_run = run
        """``jid``, ``slot``, and ``outcome`` of the last run: ``queued``, ``complete``, ``retrying`` or ``failed``."""
        self.reason = reason
        """Why it was disabled, as far as that was told: ``reason``, ``by``, ``at`` (epoch seconds)."""
        self._now = now
        self._store = store

    def upcoming(self, count: int) -> list[datetime]:
        """List the next times on Redis's clock, in the entry's zone; none where its expression cannot be read here.

        Args:
            count: how many.
        """
        try:
            return Cron(self.cron, self.timezone).upcoming(datetime.fromtimestamp(self._now, UTC), count)
        except (TypeError, ValueError):
            return []

    @property
    def next_slot(self) -> datetime | None:
        """The next time, in the entry's zone; None where its expression cannot be read here."""
        return next(iter(self.upcoming(1)), None)

    def disable(self, reason: str = "", by: str = "") -> bool:
        """Let it not run; return whether it was enabled.

        Args:
            reason: why, for whoever looks at it later.
            by: who did it.
        """
        told = {"reason": reason, "by": by, "at": self._now} if reason or by else None
        return self._store.periodic.disable(self.name, told)

    def enable(self) -> bool:
        """Let it run again, from its next time on; return whether it was disabled."""
        return self._store.periodic.enable(self.name)

    def run_now(self) -> str:
        """Push its job now, whatever its times.

        Returns:
            The jid.

        Raises:
            LockHeld: it is unique, and a job like it waits or runs.
            RuntimeError: client middleware has refused the job.
            RedisUnavailable: Redis is away.
        """
        item: dict[str, Any] = {"class": self.job, "args": self.args, "kwargs": self.kwargs} | self.options
        push = current().client.prepare(item, {PERIODIC_NAME: self.name})
        if push is None:
            raise RuntimeError(f"client middleware has refused the job of {self.name}")
        jid = current().client.dispatch(push)
        if jid is not None:
            return jid
        digest = digest_of(push.payload)
        holder = self._store.periodic.holder(digest) if digest else None
        raise LockHeld(push.payload["jid"], holder or "unknown")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.cron}>"


class PeriodicSet:
    """All entries that living processes know; iterate for them, by name.

    Args:
        store: where to look; by default the current runtime's.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = opened(store)

    def __iter__(self) -> Iterator[PeriodicEntry]:
        """Read all in one round trip."""
        found = self._store.periodic.everything()
        for name in sorted(found.entries):
            yield PeriodicEntry(
                name,
                found.entries[name],
                slot=found.slots.get(name),
                enabled=name not in found.disabled,
                run=found.runs.get(name, {}),
                reason=found.reasons.get(name, {}),
                now=found.now,
                store=self._store,
            )

    def find(self, name: str) -> PeriodicEntry | None:
        """Return the entry with a name; None when no process shows one."""
        return next((entry for entry in self if entry.name == name), None)
