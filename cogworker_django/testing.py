"""Tests of code that pushes jobs, without Redis and without a worker (Contract 8).

Only what writes jobs to Redis is exchanged: everything before it (checks, client middleware, encoding) and everything
after it (server middleware, the job itself) is the real thing, so arguments always make the way to JSON and back. A
mode holds for the whole process, all its threads included.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any

from cogworker_django import runtime
from cogworker_django.core import codec
from cogworker_django.core.dispatch import Dispatcher, Push
from cogworker_django.core.outcome import Failed
from cogworker_django.core.payload import Payload
from cogworker_django.core.text import described
from cogworker_django.worker.runner import Runner

Make = Callable[[], tuple[Dispatcher | None, bool]]
"""Makes what takes the jobs, and tells whether nothing waits for a commit."""

__all__ = ["EmptyQueueError", "clear_jobs", "disable", "drain_all", "fake", "inline"]


class EmptyQueueError(Exception):
    """There is no job to perform."""


class _Fake:
    """Keeps what is pushed, and runs it when it is told to. Unique jobs are refused as by Redis."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pushed: list[Push] = []
        self._held: dict[str, str] = {}

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """Keep jobs; see `Dispatcher.push`."""
        with self._lock:
            return [self._keep(push) for push in pushes]

    def jobs(self, name: str | None) -> list[Payload]:
        """What was pushed and not performed, oldest first: payloads; of one job, or of all."""
        with self._lock:
            return [codec.decode(push.raw) for push in self._pushed if name in (None, push.payload["class"])]

    def perform_one(self, name: str | None) -> None:
        """Perform the oldest job that is not scheduled; raises `EmptyQueueError`, and what the job raises."""
        with self._lock:
            push = self._next(name, None)
            if push is None:
                later = len(self.jobs(name))
                scheduled = f"; {later} are scheduled, which drain(until=...) performs" if later else ""
                raise EmptyQueueError(f"there is no job of {name or 'any kind'} to perform{scheduled}")
            self._pushed.remove(push)
        self._run(push)

    def drain(self, name: str | None, until: datetime | float | None) -> int:
        """Perform jobs until there are none, those included that are pushed meanwhile.

        Args:
            name: of the job; None for all.
            until: also scheduled ones, due by this time.

        Returns:
            How many were performed.
        """
        limit = None if until is None else runtime.current().client.timestamp(until)
        done = 0
        while True:
            with self._lock:
                push = self._next(name, limit)
                if push is None:
                    return done
                self._pushed.remove(push)
            self._run(push)
            done += 1

    def clear(self, name: str | None) -> None:
        """Forget jobs, and their locks."""
        with self._lock:
            for push in [push for push in self._pushed if name in (None, push.payload["class"])]:
                self._pushed.remove(push)
                self._free(push)

    def _keep(self, push: Push) -> str | None:
        jid: str = push.payload["jid"]
        if push.digest and push.digest in self._held:
            return None
        if push.digest:
            self._held[push.digest] = jid
        self._pushed.append(push)
        return jid

    def _next(self, name: str | None, limit: float | None) -> Push | None:
        """The first that is due: those without a time in their order, then the others by their times."""
        wanted = [push for push in self._pushed if name in (None, push.payload["class"])]
        for push in wanted:
            if push.delay is None and push.at is None:
                return push
        due = [push for push in wanted if limit is not None and _due(push) <= limit]
        return min(due, key=_due, default=None)

    def _run(self, push: Push) -> None:
        try:
            _perform(push)
        finally:
            with self._lock:
                self._free(push)

    def _free(self, push: Push) -> None:
        if push.digest and self._held.get(push.digest) == push.payload["jid"]:
            del self._held[push.digest]


class _Inline:
    """Runs what is pushed at once, on the caller's thread; its errors reach the caller, and delays are ignored."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """Run jobs; see `Dispatcher.push`."""
        return [self._run(push) for push in pushes]

    def _run(self, push: Push) -> str | None:
        jid: str = push.payload["jid"]
        if push.digest is None:
            _perform(push)
            return jid
        if push.digest in self._held:
            return None
        self._held.add(push.digest)
        try:
            _perform(push)
        finally:
            self._held.discard(push.digest)
        return jid


def _due(push: Push) -> float:
    return push.at if push.at is not None else time.time() + (push.delay or 0.0)


def _perform(push: Push) -> None:
    """One run through the server chain, from the bytes that would have been in Redis."""
    now = runtime.current()
    runner = Runner(now.registry, now.server_chain, lambda: None, lambda: None, announcer=now.announcer)
    payload = codec.decode(push.raw)
    with closing(runner):
        outcome = runner.run(payload, payload["queue"])
    if isinstance(outcome, Failed):
        raise outcome.error


class _Mode:
    """A mode that is on: a call leaves it on, a ``with`` block and a decorated test end it."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._before = runtime.substitute(*make())

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runtime.substitute(*self._before)

    def __call__(self, target: Any) -> Any:
        """Decorate with ``@testing.fake()``: it was not meant to be on before the test runs."""
        runtime.substitute(*self._before)
        return _decorated(target, self._make)


class _Switch:
    """`fake`, `inline` or `disable`: a function, a context manager, and a decorator with or without brackets."""

    def __init__(self, make: Callable[[], Dispatcher | None], doc: str) -> None:
        self._make = make
        self.__doc__ = doc

    def __call__(self, target: Any = None, /, *, on_commit: str | None = None) -> Any:
        if on_commit not in (None, "immediate"):
            raise ValueError(f'on_commit must be "immediate" or None, not {described(on_commit)}')

        def make() -> tuple[Dispatcher | None, bool]:
            return self._make(), on_commit is not None

        return _Mode(make) if target is None else _decorated(target, make)


@contextmanager
def _on(make: Make) -> Iterator[None]:
    before = runtime.substitute(*make())
    try:
        yield
    finally:
        runtime.substitute(*before)


def _decorated(target: Any, make: Make) -> Any:
    """A test, or a class of tests, in a mode; each test has its own."""
    if isinstance(target, type):
        for name, method in list(vars(target).items()):
            if name.startswith("test") and callable(method):
                setattr(target, name, _decorated(method, make))
        return target
    if inspect.iscoroutinefunction(target):

        @functools.wraps(target)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            with _on(make):
                return await target(*args, **kwargs)

        return run_async

    @functools.wraps(target)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _on(make):
            return target(*args, **kwargs)

    return run


fake = _Switch(
    _Fake,
    "Keep what is pushed: ``ReportJob.jobs``, ``.perform_one()``, ``.drain()``, ``.clear()``. "
    'With ``on_commit="immediate"`` nothing waits for a commit, which in a ``TestCase`` never comes.',
)
inline = _Switch(_Inline, "Run what is pushed at once, on the caller's thread; its errors reach the caller.")
disable = _Switch(lambda: None, "Push to Redis as ever, inside one of the other modes.")


def drain_all(until: datetime | float | None = None) -> int:
    """Perform all jobs until there are none, those included that are pushed meanwhile; only in fake mode.

    Args:
        until: also scheduled ones, due by this time: a datetime or epoch seconds.

    Returns:
        How many were performed.

    Raises:
        RuntimeError: the mode is not fake.
        Exception: what a job raises; the others stay.
    """
    return runtime.bench().drain(None, until)


def clear_jobs() -> None:
    """Forget all that was pushed; only in fake mode.

    Raises:
        RuntimeError: the mode is not fake.
    """
    runtime.bench().clear(None)
