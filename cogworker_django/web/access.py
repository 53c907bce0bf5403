"""Who may see and do what: one place for the views and for the buttons that they draw (Contract 6)."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

APP_LABEL = "cogworker"
VIEW = "view_dashboard"
ARGUMENTS = "view_arguments"
JOBS = "manage_jobs"
QUEUES = "manage_queues"
SCHEDULES = "manage_schedules"
WORKERS = "manage_workers"
RIGHTS = (VIEW, ARGUMENTS, JOBS, QUEUES, SCHEDULES, WORKERS)
SAFE = ("GET", "HEAD", "OPTIONS")


def is_known(request: HttpRequest) -> bool:
    """Tell whether somebody has logged in; nobody has where the project has no authentication."""
    user = getattr(request, "user", None)
    return user is not None and bool(user.is_authenticated)


def has_right(request: HttpRequest, right: str) -> bool:
    """Tell whether whoever asks has one of the permissions."""
    return is_known(request) and bool(request.user.has_perm(f"{APP_LABEL}.{right}"))


def comes_from_here(request: HttpRequest) -> bool:
    """Tell whether a browser that says where a request comes from says that it comes from our pages.

    A further fence beside the token; upstream's only one (reference, section 28.1).
    """
    return request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


@dataclass(frozen=True, kw_only=True, slots=True)
class May:
    """What whoever asks may do: the pages draw only such buttons."""

    view_arguments: bool
    jobs: bool
    queues: bool
    schedules: bool
    workers: bool

    @classmethod
    def of(cls, request: HttpRequest, *, read_only: bool) -> May:
        """Ask for all of them.

        Args:
            request: of whoever asks.
            read_only: whether nobody may change anything.
        """
        granted = {right: has_right(request, right) for right in RIGHTS}
        return cls(
            view_arguments=granted[ARGUMENTS],
            jobs=granted[JOBS] and not read_only,
            queues=granted[QUEUES] and not read_only,
            schedules=granted[SCHEDULES] and not read_only,
            workers=granted[WORKERS] and not read_only,
        )

    def allows(self, right: str) -> bool:
        """Tell whether something may be done.

        Args:
            right: the name of its permission.
        """
        return {JOBS: self.jobs, QUEUES: self.queues, SCHEDULES: self.schedules, WORKERS: self.workers}[right]
