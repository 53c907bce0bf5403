"""The one way into Redis for new jobs: check, client middleware, encode, dispatch (Contract 2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from cogworker_django.core import times
from cogworker_django.core.arguments import checked, duplicate
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.dispatch import Dispatcher, Push
from cogworker_django.core.due import Due, due_after
from cogworker_django.core.identity import new_jid, new_jids
from cogworker_django.core.item import read_item
from cogworker_django.core.middleware import Chain
from cogworker_django.core.payload import Payload, encoded
from cogworker_django.core.recheck import rechecked
from cogworker_django.core.registry import Registry
from cogworker_django.core.text import described
from cogworker_django.core.unique import sealed
from cogworker_django.outbox import Defer, Outbox, never

# Bytes of a payload, unless the settings say otherwise: 1 MiB (Contract 3).
DEFAULT_MAX_PAYLOAD_BYTES = 1_048_576


class JobClient:
    """Pushes jobs.

    Args:
        dispatcher: where they go.
        defer: runs a step after a commit.
        registry: the jobs known here; each class has a ``cogworker_blueprint``.
        chain: client middleware.
        redis: handed to client middleware as it is.
        max_payload_bytes: the largest payload that is pushed.
        naive_to_timestamp: reads a naive datetime in the current zone; by default naive ones are refused.
        now: the wall clock, in epoch seconds.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        defer: Defer = never,
        registry: Registry[Any],
        chain: Chain | None = None,
        redis: object = None,
        max_payload_bytes: int = DEFAULT_MAX_PAYLOAD_BYTES,
        naive_to_timestamp: times.ToTimestamp = times.refuse_naive,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._outbox = Outbox(dispatcher, defer)
        self._registry = registry
        self._chain = chain or Chain()
        self._redis = redis
        self._max_payload_bytes = max_payload_bytes
        self._naive_to_timestamp = naive_to_timestamp
        self._now = now

    def enqueue(self, blueprint: Blueprint, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Push a job to its queue now.

        Args:
            blueprint: the job and its options.
            args: positional arguments of ``perform``.
            kwargs: keyword arguments of ``perform``.

        Returns:
            The jid; None if middleware did not proceed or the job was refused as a duplicate.

        Raises:
            TypeError: ``perform`` cannot be called so, or an argument is of a type JSON does not know.
            ValueError: an argument JSON cannot carry, or a payload that is too large.
            RedisUnavailable: Redis is away.
            RedisRefused: Redis refused the write.
        """
        return self.dispatch(self._prepared(blueprint, args, kwargs, new_jid(), None))

    def enqueue_in(
        self, delay: float | timedelta, blueprint: Blueprint, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> str | None:
        """Push a job to run after a delay; 0 or less is now.

        Args:
            delay: seconds, or a timedelta.
            blueprint: as for `enqueue`, and so the rest.
            args: positional arguments.
            kwargs: keyword arguments.
        """
        wait = times.seconds(delay, "the delay")
        due = Due(wait, times.within_calendar(self._now() + wait, "the time after the delay"))
        return self.dispatch(self._prepared(blueprint, args, kwargs, new_jid(), due))

    def enqueue_at(
        self, when: object, blueprint: Blueprint, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> str | None:
        """Push a job to run at a time; one that has passed is now.

        Args:
            when: an aware datetime, a naive one in the current zone, or epoch seconds.
            blueprint: as for `enqueue`, and so the rest.
            args: positional arguments.
            kwargs: keyword arguments.
        """
        due = Due(None, self.timestamp(when))
        return self.dispatch(self._prepared(blueprint, args, kwargs, new_jid(), due))

    def timestamp(self, when: object) -> float:
        """Read a due time: an aware datetime, a naive one in the current zone, or epoch seconds.

        Returns:
            Epoch seconds.

        Raises:
            TypeError: it is neither a datetime nor a number.
            ValueError: it is NaN, infinite or outside the years 1 to 9999.
        """
        return times.due(when, self._naive_to_timestamp)

    def enqueue_on_commit(
        self, blueprint: Blueprint, args: Sequence[Any], kwargs: Mapping[str, Any], *, robust: bool = False
    ) -> str | None:
        """Push a job to its queue once the transaction that is open has committed; at once when none is.

        Args:
            blueprint: as for `enqueue`, and so the rest.
            args: positional arguments; they are checked and copied now.
            kwargs: keyword arguments.
            robust: whether what goes wrong after the commit is only logged.

        Returns:
            The jid; None if the job was refused at once.
        """
        wish = blueprint.options.on_commit or True
        return self.dispatch(self._prepared(blueprint.committing(wish), args, kwargs, new_jid(), None), robust=robust)

    def enqueue_bulk(self, blueprint: Blueprint, calls: Iterable[Sequence[Any]]) -> list[str | None]:
        """Push many jobs: all are checked before the first is written, then 1,000 go at a time.

        Args:
            blueprint: the job and its options.
            calls: for each job a tuple or list of its positional arguments.

        Returns:
            For each its jid, or None as from `enqueue`.

        Raises:
            TypeError: as from `enqueue`; the message begins with ``item 3:``, and nothing was pushed.
            ValueError: the same.
            RedisUnavailable: Redis is away; batches before the failing one are written.
            RedisRefused: the same.
        """
        items = list(calls)
        pushes: list[Push | None] = []
        prepare = self._prepare_plain if self._chain.empty else self._prepare_each
        try:
            prepare(blueprint, items, pushes)
        except (TypeError, ValueError) as error:
            raise _placed(error, len(pushes)) from error
        return self._outbox.send(pushes)

    def push(self, item: Mapping[str, Any]) -> str | None:
        """Push a job given as a dict, whether its code is here or not.

        Args:
            item: ``class`` (name or job), and optionally ``args``, ``kwargs``, ``queue``, ``retry``,
                ``unique``, ``jid``, ``at`` and further keys that ride along. A registered job's options are
                the defaults.

        Returns:
            The jid, or None, as `enqueue`; so are the errors.
        """
        return self.dispatch(self._prepared_item(item))

    def push_bulk(self, items: Iterable[Mapping[str, Any]]) -> list[str | None]:
        """Push many jobs given as dicts; see `push` and `enqueue_bulk`.

        Args:
            items: the jobs.
        """
        pushes: list[Push | None] = []
        given = list(items)
        try:
            for item in given:
                pushes.append(self._prepared_item(item))
        except (TypeError, ValueError) as error:
            raise _placed(error, len(pushes)) from error
        return self._outbox.send(pushes)

    def prepare(self, item: Mapping[str, Any], riders: Mapping[str, Any]) -> Push | None:
        """Do everything of `push` before the write.

        Args:
            item: as for `push`.
            riders: fields of the package's own that travel in the payload.

        Returns:
            What to hand to `dispatch`; None if middleware did not proceed. The errors are those of `push`.
        """
        return self._prepared_item(item, riders)

    def dispatch(self, push: Push | None, *, robust: bool = False) -> str | None:
        """Write what was prepared, after the commit if it waits for one; returns and raises as `push`."""
        return self._outbox.send([push], robust=robust)[0]

    def _prepared_item(self, item: Mapping[str, Any], riders: Mapping[str, Any] | None = None) -> Push | None:
        read = read_item(item, self._blueprint_named)
        due = None if read.at is None else Due(None, self.timestamp(read.at))
        return self._prepared(read.blueprint, read.args, read.kwargs, read.jid or new_jid(), due, riders)

    def _prepare_each(self, blueprint: Blueprint, calls: list[Sequence[Any]], pushes: list[Push | None]) -> None:
        for args, jid in zip(calls, new_jids(len(calls)), strict=True):
            pushes.append(self._prepared(blueprint, _as_tuple(args), _NO_KWARGS, jid, None))

    def _prepare_plain(self, blueprint: Blueprint, calls: list[Sequence[Any]], pushes: list[Push | None]) -> None:
        """Do what `_prepare_each` does without middleware, in half the time: a bulk may be a million."""
        check_call, build = blueprint.check_call, blueprint.payload
        limit, now, on_commit = self._max_payload_bytes, self._now(), blueprint.options.on_commit
        for given, jid in zip(calls, new_jids(len(calls)), strict=True):
            args = given if type(given) is tuple else _as_tuple(given)
            check_call(args, _NO_KWARGS)
            payload = build(checked(args, "args"), _NO_KWARGS, jid, now)
            payload["enqueued_at"] = now
            blueprint.limit(payload, now)
            digest = sealed(payload)
            pushes.append(Push(payload, encoded(payload, limit), None, None, digest, on_commit))

    def _blueprint_named(self, name: str) -> Blueprint | None:
        job_class = self._registry.get(name)
        return None if job_class is None else job_class.cogworker_blueprint

    def _prepared(
        self,
        blueprint: Blueprint,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        jid: str,
        due: Due | None,
        riders: Mapping[str, Any] | None = None,
    ) -> Push | None:
        """Everything before the write; None if middleware did not proceed."""
        blueprint.check_call(args, kwargs)
        named = checked(kwargs, "kwargs") if kwargs else {}
        payload = blueprint.payload(checked(args, "args"), named, jid, self._now())
        if riders:
            payload |= riders
        if due is not None:
            payload["at"] = due.at
        blueprint.limit(payload, self._now() if due is None else due.at)
        if not self._chain.empty:
            admitted = self._admitted(payload)
            if admitted is None:
                return None
            payload, due = admitted, due_after(admitted, due)
        return self._encoded(payload, due, blueprint.options.on_commit)

    def _admitted(self, payload: Payload) -> Payload | None:
        # A copy, since nested option values belong to the blueprint and middleware may change them in place.
        offered = duplicate(payload)
        admitted = False

        def admit() -> Any:
            nonlocal admitted
            admitted = True
            return offered["jid"]

        self._chain.invoke(admit, offered["class"], offered, offered["queue"], self._redis)
        return rechecked(offered) if admitted else None

    def _encoded(self, payload: Payload, due: Due | None, on_commit: bool | str | None) -> Push:
        delay = at = None
        now = self._now()
        if due is not None and due.delay is not None and due.delay > 0:
            delay = due.delay
        elif due is not None and due.delay is None and due.at > now:
            at = due.at
        else:
            payload["enqueued_at"] = now
        digest = sealed(payload)
        return Push(payload, encoded(payload, self._max_payload_bytes), delay, at, digest, on_commit)


def _as_tuple(args: object) -> tuple[Any, ...]:
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"expected a tuple or list of arguments, not {described(args)}")
    return tuple(args)


def _placed(error: TypeError | ValueError, index: int) -> TypeError | ValueError:
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"item {index}: {error}")


_NO_KWARGS: dict[str, Any] = {}
