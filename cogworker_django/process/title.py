"""What `ps` and `top` show for a process, where the package setproctitle is installed."""

from __future__ import annotations

from cogworker_django.core.version import VERSION
from cogworker_django.process.condition import Condition, Phase

try:
    import setproctitle as _library
except ImportError:  # an optional package
    _library = None  # type: ignore[assignment]


def show(text: str, tag: str = "") -> None:
    """Set the title; nothing without the package.

    Args:
        text: what the process does.
        tag: the operator's own text.
    """
    if _library is not None:
        _library.setproctitle(f"cogworker {VERSION}{f' [{tag}]' if tag else ''}: {text}")


def of(condition: Condition) -> str:
    """Say in a few words what a worker process does."""
    busy = f"{condition.busy} of {condition.concurrency} busy"
    if condition.phase == Phase.BOOTING:
        return "waiting for Redis"
    return busy if condition.phase == Phase.WORKING else f"{busy}, {condition.phase}"
