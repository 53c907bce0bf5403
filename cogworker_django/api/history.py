"""What has run."""

from __future__ import annotations

from typing import Any

from cogworker_django.api.door import opened
from cogworker_django.core.text import described
from cogworker_django.store.history import ALL, FAILED, SUCCESS, DayCount
from cogworker_django.store.store import Store

STATUSES = (SUCCESS, FAILED)


class History:
    """The runs of the past, the newest first (`COGWORKER["HISTORY"]`). Each attempt of a job is a run of its own."""

    @staticmethod
    def page(
        status: str | None = None,
        jid: str | None = None,
        page: int = 1,
        per_page: int = 50,
        store: Store | None = None,
    ) -> tuple[list[dict[str, Any]], int]:
        """Read a page of runs.

        Args:
            status: ``"success"`` or ``"failed"``; None for both.
            jid: only the runs of this job, which are searched for; None for all jobs.
            page: its number, from 1.
            per_page: runs on a page.
            store: where to look; by default the current runtime's.

        Returns:
            The runs of the page, newest first, and how many there are on all pages. A run has ``jid``, ``class``,
            ``queue``, ``status``, ``started_at`` and ``finished_at`` (epoch seconds), ``host`` (the identity of its
            process), ``args`` and ``kwargs`` unless they are large (then ``args_omitted``), and after a failure
            ``error_class``, ``error_message`` and ``backtrace``.

        Raises:
            ValueError: there is no such status, or a number is below 1.
            RedisUnavailable: Redis is away.
        """
        if status is not None and status not in STATUSES:
            raise ValueError(f'status must be "success", "failed" or None, not {described(status)}')
        for name, number in (("page", page), ("per_page", per_page)):
            if number < 1:
                raise ValueError(f"{name} must be 1 or more, not {number}")
        history, first = opened(store).history, (page - 1) * per_page
        if jid is None:
            return history.page(status or ALL, first, first + per_page - 1)
        found = history.search(status or ALL, jid)
        return found[first : first + per_page], len(found)

    @staticmethod
    def daily(days: int = 30, store: Store | None = None) -> list[DayCount]:
        """Count the runs of the last days, also of those that the history itself no longer has.

        Args:
            days: how many, today included, in UTC.
            store: where to look; by default the current runtime's.

        Returns:
            ``day``, ``success`` and ``failed`` of each day that had runs, oldest first.
        """
        return opened(store).history.daily(days)
