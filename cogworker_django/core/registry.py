"""Which job runs under which name: nothing named in Redis is ever imported or called (Contract 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from cogworker_django.core.errors import UnknownJob
from cogworker_django.core.text import described

JobClass = TypeVar("JobClass", bound=type)


class Registry(Generic[JobClass]):
    """The registered jobs.

    Each name keeps every class that claims it, by the class's module and qualified name: the same class
    defined again (a module reloaded) takes its own place, another class is a problem to report.
    """

    def __init__(self) -> None:
        self._claims: dict[str, dict[str, JobClass]] = {}

    def add(self, name: str, aliases: Iterable[str], job_class: JobClass) -> None:
        """Register a job.

        Args:
            name: the name new payloads carry.
            aliases: earlier names, still runnable.
            job_class: the class that runs it.
        """
        origin = _origin(job_class)
        for claimed in (name, *aliases):
            self._claims.setdefault(claimed, {})[origin] = job_class

    def resolve(self, name: str) -> JobClass:
        """Find the job for a payload's ``class``.

        Raises:
            UnknownJob: no job has the name.
        """
        claims = self._claims.get(name)
        if not claims:
            raise UnknownJob(
                f"no job is registered under the name {described(name)}: define it in a module named jobs of "
                "an installed app or in one listed in IMPORTS, or keep its old name as an alias"
            )
        # A name with two claims is reported by problems(); until that is mended the first one has it.
        return next(iter(claims.values()))

    def get(self, name: str) -> JobClass | None:
        """Find the job for a name, or None."""
        claims = self._claims.get(name)
        return next(iter(claims.values())) if claims else None

    def problems(self) -> list[str]:
        """List what is wrong with the registered names, one sentence each."""
        return [
            f"job name {name!r} is used by {' and '.join(sorted(claims))}: give one of them another name"
            for name, claims in sorted(self._claims.items())
            if len(claims) > 1
        ]

    def names(self) -> list[str]:
        """List every name a job can be run under, aliases included, sorted."""
        return sorted(self._claims)

    def __iter__(self) -> Iterator[JobClass]:
        """Each registered class once, in the order of registration."""
        classes = [job_class for claims in list(self._claims.values()) for job_class in claims.values()]
        return iter(dict.fromkeys(classes))

    def __contains__(self, name: object) -> bool:
        return name in self._claims


def _origin(job_class: type) -> str:
    return f"{job_class.__module__}.{job_class.__qualname__}"
