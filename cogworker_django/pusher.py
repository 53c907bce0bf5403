"""Enqueuing through the process's runtime.

`Enqueuing` are the class methods of a job class, `Pusher` the same for a job with options of the call, and
`Client` is for a job that is only a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, ParamSpec, Protocol

from cogworker_django import runtime
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.payload import Payload

P = ParamSpec("P")
Delay = float | timedelta
When = datetime | float


class Performs(Protocol[P]):
    """What has a ``perform``, whose parameters are those of the calls that enqueue it."""

    cogworker_blueprint: ClassVar[Blueprint]

    def perform(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """See `Job`."""
        ...


class _Jobs:
    """What was pushed of a job class, in fake mode."""

    def __get__(self, instance: object, owner: type[Enqueuing]) -> list[Payload]:
        return runtime.bench().jobs(owner.cogworker_blueprint.name)


class Enqueuing:
    """The class methods that enqueue a job class; `Job` inherits them."""

    jobs: ClassVar = _Jobs()
    """Under test, in fake mode (Contract 8): the payloads of what was pushed and not performed, oldest first."""

    cogworker_blueprint: ClassVar[Blueprint]
    """What all pushes of the class have in common."""

    @classmethod
    def set(cls: type[Performs[P]], /, **options: Any) -> Pusher[P]:
        """Replace options for some calls: ``ReportJob.set(queue="high").perform_async(7)``.

        Args:
            options: as the class keywords, without ``name`` and ``aliases``.

        Returns:
            An object with the same enqueuing methods.

        Raises:
            TypeError: an option has a wrong type.
            ValueError: an option has a wrong value.
        """
        return Pusher(cls.cogworker_blueprint.with_options(**options))

    @classmethod
    def perform_async(cls: type[Performs[P]], /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job to run as soon as a worker is free.

        Args:
            args: for ``perform``: None, bool, int, finite float, str, and lists, tuples and dicts of these.
            kwargs: the same.

        Returns:
            The jid, or None if client middleware or a unique lock refused the job.

        Raises:
            TypeError: ``perform`` does not take these arguments, or JSON does not know the type of one; the
                message names its place, and nothing was pushed.
            ValueError: JSON cannot carry an argument, or the payload is too large; nothing was pushed.
            RedisUnavailable: Redis is away.
            RedisRefused: Redis refused the write.
        """
        return runtime.current().client.enqueue(cls.cogworker_blueprint, args, kwargs)

    @classmethod
    def perform_in(cls: type[Performs[P]], delay: Delay, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job to run after a delay.

        Args:
            delay: seconds or a timedelta; 0 or less is now.
            args: as for `perform_async`, and so the rest.
            kwargs: as for `perform_async`.
        """
        return runtime.current().client.enqueue_in(delay, cls.cogworker_blueprint, args, kwargs)

    @classmethod
    def perform_at(cls: type[Performs[P]], when: datetime | float, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job to run at a time.

        Args:
            when: an aware datetime, a naive one in Django's current zone, or epoch seconds; one that has
                passed is now.
            args: as for `perform_async`, and so the rest.
            kwargs: as for `perform_async`.
        """
        return runtime.current().client.enqueue_at(when, cls.cogworker_blueprint, args, kwargs)

    @classmethod
    def perform_on_commit(cls: type[Performs[P]], /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job once the transaction that is open has committed; at once when none is.

        Args:
            args: as for `perform_async`; they are checked and copied now.
            kwargs: as for `perform_async`.

        Returns:
            The jid, at once; None if client middleware refused the job, or, outside a transaction, a unique lock did.
            After the commit a refusal is logged, and a push that fails is logged and raises `RedisUnavailable`.
        """
        return runtime.current().client.enqueue_on_commit(cls.cogworker_blueprint, args, kwargs)

    @classmethod
    async def aperform_on_commit(cls: type[Performs[P]], /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job now: no transaction can be open in asynchronous code."""
        return await Pusher[P](cls.cogworker_blueprint).aperform_async(*args, **kwargs)

    @classmethod
    def perform_bulk(cls, calls: Iterable[Sequence[Any]], /) -> list[str | None]:
        """Enqueue the job many times: all calls are checked first, then 1,000 go in one round trip.

        Args:
            calls: for each job a tuple or list of its arguments.

        Returns:
            For each its jid, or None, as from `perform_async`; the errors are the same and begin with
            ``item 3:``.
        """
        return runtime.current().client.enqueue_bulk(cls.cogworker_blueprint, calls)

    @classmethod
    def perform_one(cls) -> None:
        """Under test, in fake mode: perform the oldest; raises `testing.EmptyQueueError`, and what the job raises."""
        runtime.bench().perform_one(cls.cogworker_blueprint.name)

    @classmethod
    def drain(cls, until: datetime | float | None = None) -> int:
        """Under test, in fake mode: perform all, those included that are pushed meanwhile.

        Args:
            until: also scheduled ones, due by this time: a datetime or epoch seconds.

        Returns:
            How many were performed.
        """
        return runtime.bench().drain(cls.cogworker_blueprint.name, until)

    @classmethod
    def clear(cls) -> None:
        """Under test, in fake mode: forget what was pushed."""
        runtime.bench().clear(cls.cogworker_blueprint.name)

    @classmethod
    async def aperform_async(cls: type[Performs[P]], /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Do `perform_async` without blocking the event loop."""
        return await Pusher[P](cls.cogworker_blueprint).aperform_async(*args, **kwargs)

    @classmethod
    async def aperform_in(cls: type[Performs[P]], delay: Delay, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Do `perform_in` without blocking the event loop."""
        return await Pusher[P](cls.cogworker_blueprint).aperform_in(delay, *args, **kwargs)

    @classmethod
    async def aperform_at(cls: type[Performs[P]], when: When, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Do `perform_at` without blocking the event loop."""
        return await Pusher[P](cls.cogworker_blueprint).aperform_at(when, *args, **kwargs)

    @classmethod
    async def aperform_bulk(cls, calls: Iterable[Sequence[Any]], /) -> list[str | None]:
        """Do `perform_bulk` without blocking the event loop."""
        return await asyncio.to_thread(cls.perform_bulk, calls)


class Pusher(Generic[P]):
    """Enqueues one job, each call with the same options.

    Args:
        blueprint: the job and its options.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self.cogworker_blueprint = blueprint

    def set(self, **options: Any) -> Pusher[P]:
        """Make a pusher with some options replaced; see `Enqueuing.set`."""
        return Pusher(self.cogworker_blueprint.with_options(**options))

    def perform_async(self, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job to run as soon as a worker is free; see `Enqueuing.perform_async`."""
        return runtime.current().client.enqueue(self.cogworker_blueprint, args, kwargs)

    def perform_in(self, delay: Delay, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job to run after a delay; see `Enqueuing.perform_in`."""
        return runtime.current().client.enqueue_in(delay, self.cogworker_blueprint, args, kwargs)

    def perform_at(self, when: When, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job to run at a time; see `Enqueuing.perform_at`."""
        return runtime.current().client.enqueue_at(when, self.cogworker_blueprint, args, kwargs)

    def perform_on_commit(self, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job once the transaction that is open has committed; see `Enqueuing.perform_on_commit`."""
        return runtime.current().client.enqueue_on_commit(self.cogworker_blueprint, args, kwargs)

    async def aperform_on_commit(self, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Enqueue the job now; see `Enqueuing.aperform_on_commit`."""
        return await self.aperform_async(*args, **kwargs)

    def perform_bulk(self, calls: Iterable[Sequence[Any]], /) -> list[str | None]:
        """Enqueue the job many times; see `Enqueuing.perform_bulk`."""
        return runtime.current().client.enqueue_bulk(self.cogworker_blueprint, calls)

    @property
    def jobs(self) -> list[Payload]:
        """See `Enqueuing.jobs`."""
        return runtime.bench().jobs(self.cogworker_blueprint.name)

    def perform_one(self) -> None:
        """See `Enqueuing.perform_one`."""
        runtime.bench().perform_one(self.cogworker_blueprint.name)

    def drain(self, until: datetime | float | None = None) -> int:
        """See `Enqueuing.drain`."""
        return runtime.bench().drain(self.cogworker_blueprint.name, until)

    def clear(self) -> None:
        """See `Enqueuing.clear`."""
        runtime.bench().clear(self.cogworker_blueprint.name)

    async def aperform_async(self, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Do `perform_async` without blocking the event loop."""
        return await asyncio.to_thread(self.perform_async, *args, **kwargs)

    async def aperform_in(self, delay: Delay, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Do `perform_in` without blocking the event loop."""
        return await asyncio.to_thread(self.perform_in, delay, *args, **kwargs)

    async def aperform_at(self, when: When, /, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """Do `perform_at` without blocking the event loop."""
        return await asyncio.to_thread(self.perform_at, when, *args, **kwargs)

    async def aperform_bulk(self, calls: Iterable[Sequence[Any]], /) -> list[str | None]:
        """Do `perform_bulk` without blocking the event loop."""
        return await asyncio.to_thread(self.perform_bulk, calls)


class Client:
    """Enqueues jobs given as dicts: for callers that have a job's name but not its code (Contract 2)."""

    @staticmethod
    def push(item: Mapping[str, Any]) -> str | None:
        """Enqueue a job.

        Args:
            item: ``class``, the name of a job or a job itself; ``args`` and ``kwargs``; ``queue``, ``retry``
                and ``unique``; ``at``, a datetime or epoch seconds; ``jid``; and keys that ride along. If the
                job is registered here, its options are the defaults and the arguments must fit ``perform``.

        Returns:
            The jid, or None if client middleware or a unique lock refused the job.

        Raises:
            TypeError: a part of the item has a wrong type; nothing was pushed.
            ValueError: a part of the item has a wrong value; nothing was pushed.
            RedisUnavailable: Redis is away.
            RedisRefused: Redis refused the write.
        """
        return runtime.current().client.push(item)

    @staticmethod
    def push_bulk(items: Iterable[Mapping[str, Any]]) -> list[str | None]:
        """Enqueue many jobs: all are checked before the first is written, then 1,000 go in one round trip.

        Args:
            items: as for `push`.

        Returns:
            For each its jid, or None, as from `push`; the errors are the same and begin with ``item 3:``.
        """
        return runtime.current().client.push_bulk(items)

    @staticmethod
    async def apush(item: Mapping[str, Any]) -> str | None:
        """Do `push` without blocking the event loop."""
        return await asyncio.to_thread(Client.push, item)

    @staticmethod
    async def apush_bulk(items: Iterable[Mapping[str, Any]]) -> list[str | None]:
        """Do `push_bulk` without blocking the event loop."""
        return await asyncio.to_thread(Client.push_bulk, items)
