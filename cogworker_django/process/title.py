"""What `ps` and `top` show for a process, where the package setproctitle is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from cogworker_django.core.version import VERSION
from cogworker_django.process.condition import Condition, Phase

_library: Any = import_module("setproctitle") if find_spec("setproctitle") else None


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
