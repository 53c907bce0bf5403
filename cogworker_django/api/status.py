"""Where one job stands."""

from __future__ import annotations

from typing import Any

from cogworker_django.api.door import opened
from cogworker_django.core.payload import DJANGO_TASK
from cogworker_django.store.store import Store


class Status:
    """The statuses of jobs, kept for a while after their latest change (`COGWORKER["STATUS"]`)."""

    @staticmethod
    def status(jid: str, store: Store | None = None) -> str | None:
        """Read where a job stands.

        Args:
            jid: the job's id.
            store: where to look; by default the current runtime's.

        Returns:
            ``"queued"``, ``"working"``, ``"retrying"``, ``"complete"`` or ``"failed"``; None when nothing is known, or
            no longer.

        Raises:
            RedisUnavailable: Redis is away.
        """
        found = Status.get(jid, store)
        status = found.get("status") if found else None
        return status if isinstance(status, str) else None

    @staticmethod
    def get(jid: str, store: Store | None = None) -> dict[str, Any] | None:
        """Read all that is known.

        Args:
            jid: the job's id.
            store: where to look; by default the current runtime's.

        Returns:
            ``status``, ``update_time`` (epoch seconds), ``class`` and ``queue``; what the job has told with `Job.at`
            (``pct``, ``message``) and `Job.store`; ``result`` once it has returned something, or ``result_omitted``
            with the reason; ``error_class`` and ``error_message`` of its latest failure. None when nothing is known,
            or no longer.

        Raises:
            RedisUnavailable: Redis is away.
        """
        found = opened(store).statuses.get(jid)
        if found:
            # Arguments of a task, for its result: whoever shows a status must not show them by it.
            found.pop(DJANGO_TASK, None)
        return found
