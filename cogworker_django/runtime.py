"""What a process has of the package, built once when it is first needed: the only global there is.

The Django edge installs how to build it; users' code and the commands ask for it here, and hand its parts on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cogworker_django.client import JobClient
from cogworker_django.core.config import Config
from cogworker_django.core.dispatch import Bench, Dispatcher, Push
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.events import SILENCE, Announcer
from cogworker_django.core.middleware import Chain
from cogworker_django.core.registry import Registry
from cogworker_django.store.store import Store

DeathHandler = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The parts of one process."""

    config: Config
    """The settings, checked and frozen."""
    registry: Registry[Any]
    """The jobs that may run."""
    store: Store
    """Redis."""
    client: JobClient
    """Pushes jobs."""
    server_chain: Chain
    """Middleware around each run."""
    death_handlers: tuple[DeathHandler, ...]
    """Called with ``(payload, exception)`` when a job has died."""
    announcer: Announcer = SILENCE
    """Tells of what happens to jobs and workers."""


class _Holder:
    """Keeps the process's runtime, and how to build it."""

    def __init__(self) -> None:
        self.factory: Callable[[], Runtime] | None = None
        self.runtime: Runtime | None = None
        self.substitute: Dispatcher | None = None
        self.commits_at_once = False
        self.renew_lock()

    def renew_lock(self) -> None:
        # Reentrant: a factory that asks for the runtime should end in an error, not in a deadlock.
        self.lock = threading.RLock()

    def build(self) -> Runtime:
        with self.lock:
            if self.runtime is None:
                if self.factory is None:
                    raise ConfigurationError(
                        [
                            'cogworker_django is not set up: add "cogworker_django" to INSTALLED_APPS, '
                            "and call django.setup() before using jobs outside manage.py"
                        ]
                    )
                self.runtime = self.factory()
            return self.runtime


_HOLDER = _Holder()


def install(factory: Callable[[], Runtime]) -> None:
    """Say how the runtime is built; one that was built before is dropped.

    Args:
        factory: builds it from the settings as they are when it is called.
    """
    _HOLDER.factory = factory
    reset()


def current() -> Runtime:
    """Get the process's runtime, building it at the first call.

    Returns:
        The same runtime in every thread, until `reset`.

    Raises:
        ConfigurationError: the package is not set up, or the settings are at fault.
    """
    runtime = _HOLDER.runtime
    return _HOLDER.build() if runtime is None else runtime


def reset() -> None:
    """Drop the runtime; the next `current` builds it anew. For changed settings and for tests."""
    with _HOLDER.lock:
        _HOLDER.runtime = None


class Switch:
    """Hands pushes on: to Redis, or to what stands in for it under test.

    Args:
        real: the dispatcher of real life.
    """

    def __init__(self, real: Dispatcher) -> None:
        self._real = real

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """Write jobs; see `Dispatcher.push`."""
        return (_HOLDER.substitute or self._real).push(pushes)


def substitute(dispatcher: Dispatcher | None, commits_at_once: bool = False) -> tuple[Dispatcher | None, bool]:
    """Have something else take what is pushed, in the whole process.

    Args:
        dispatcher: it; None for Redis.
        commits_at_once: whether nothing waits for a commit, which in a test may never come.

    Returns:
        Both as they were before.
    """
    with _HOLDER.lock:
        before = (_HOLDER.substitute, _HOLDER.commits_at_once)
        _HOLDER.substitute, _HOLDER.commits_at_once = dispatcher, commits_at_once
        return before


def commits_at_once() -> bool:
    """Whether nothing waits for a commit."""
    return _HOLDER.commits_at_once


def bench() -> Bench:
    """Get what keeps the jobs of a test.

    Raises:
        RuntimeError: nothing does: the mode is not fake.
    """
    held = _HOLDER.substitute
    if isinstance(held, Bench):
        return held
    raise RuntimeError("jobs are kept in fake mode only: call cogworker_django.testing.fake() before")


def _after_fork() -> None:
    # Connections are not the child's to use, and another thread of the parent may have held the lock.
    _HOLDER.renew_lock()
    reset()


os.register_at_fork(after_in_child=_after_fork)
