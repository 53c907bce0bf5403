"""Saying what shall run when: `periodic` (Contract 5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar, overload

from cogworker_django.core.cron import Cron
from cogworker_django.core.entry import Declaration
from cogworker_django.core.text import described

Target = TypeVar("Target")


class Periodic:
    """Registers periodic entries; `periodic` is the one that the package looks at.

    What is registered is checked by ``manage.py check`` and at the worker's start, all entries together.
    """

    def __init__(self) -> None:
        self.declared: list[Declaration] = []
        """Everything registered in this process."""
        self.default_zone: Callable[[], str] = lambda: "UTC"
        """The zone of entries that name none."""

    @overload
    def __call__(self, cron: str, /, **fields: Any) -> Callable[[Target], Target]: ...
    @overload
    def __call__(self, cron: str, job: Target, /, **fields: Any) -> Target: ...
    def __call__(self, cron: str, job: Any = None, /, **fields: Any) -> Any:
        """Register an entry: ``periodic("0 4 * * *", ReportJob, name="nightly")``, or as a decorator above ``@job``.

        Args:
            cron: minute, hour, day of month, month, day of week, or a shorthand such as ``@hourly``.
            job: a job, or its name; None to decorate one.
            fields: ``name`` (by default the job's), ``args``, ``kwargs``, ``timezone`` (by default Django's),
                ``unique``, ``retry`` and ``queue`` (by default the job's own), ``catch_up``.

        Returns:
            The job; without one a decorator.
        """

        def register(target: Target) -> Target:
            module = getattr(target, "__module__", None)
            place = f"periodic in {module}" if module else "periodic"
            self.declared.append(Declaration(place, {"cron": cron, "job": target, **fields}))
            return target

        return register if job is None else register(job)

    def upcoming(
        self, cron: str, timezone: str | None = None, *, after: datetime | None = None, count: int = 5
    ) -> list[datetime]:
        """List the next times of an expression, the same that the worker follows.

        Args:
            cron: as for an entry.
            timezone: the name of a zone; by default Django's ``TIME_ZONE``.
            after: an aware datetime; by default now.
            count: how many.

        Returns:
            Aware datetimes in that zone.

        Raises:
            TypeError: an argument has a wrong type.
            ValueError: the expression, the zone or the time is wrong.
        """
        begin = datetime.fromtimestamp(time.time(), UTC) if after is None else after
        if begin.tzinfo is None:
            raise ValueError(f"after has no time zone: {described(after)}")
        return Cron(cron, self.default_zone() if timezone is None else timezone).upcoming(begin, count)


periodic = Periodic()


def from_settings(given: Iterable[object]) -> list[Declaration]:
    """Read the entries of ``COGWORKER["PERIODIC"]``.

    Args:
        given: the dicts, unchecked.
    """
    return [Declaration(f'COGWORKER["PERIODIC"][{index}]', fields) for index, fields in enumerate(given)]
