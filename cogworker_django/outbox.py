"""When jobs that are ready are written: at once, or once the database transaction has committed (Contract 2)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from cogworker_django.core.dispatch import Dispatcher, Push
from cogworker_django.core.errors import CogworkerError
from cogworker_django.core.text import error_class, error_message, job_label, one_line

logger = logging.getLogger("cogworker")

# Jobs of one call of the dispatcher: one round trip each (Contract 2).
BULK_SIZE = 1_000

Defer = Callable[[str | None, Callable[[], None], bool], bool]
"""Given a database alias (None for the default one), a step, and whether its errors are only logged: has the step run
after the commit of the transaction that is open there; False when none is open."""


def never(_using: str | None, _step: Callable[[], None], _robust: bool) -> bool:
    """Where there is no database there is no transaction."""
    return False


class Outbox:
    """Hands jobs to the dispatcher.

    Args:
        dispatcher: writes them.
        defer: runs a step after the commit.
    """

    def __init__(self, dispatcher: Dispatcher, defer: Defer = never) -> None:
        self._dispatcher = dispatcher
        self._defer = defer

    def send(self, pushes: Sequence[Push | None], *, robust: bool = False) -> list[str | None]:
        """Write jobs, those that wait for a commit after it.

        Args:
            pushes: the jobs; None for one that middleware has refused.
            robust: whether what goes wrong after the commit is only logged.

        Returns:
            For each its jid, or None if it was refused. One that waits has its jid already, whatever becomes of it.
        """
        later: dict[bool | str | None, bool] = {}
        for push in pushes:
            if push is not None and push.on_commit and push.on_commit not in later:
                later[push.on_commit] = self._is_deferred(push.on_commit, pushes, robust)
        now = [push for push in pushes if push is not None and not later.get(push.on_commit)]
        answers = iter(self._written(now))
        return [self._answer(push, answers, later) for push in pushes]

    @staticmethod
    def _answer(
        push: Push | None, answers: Iterator[str | None], later: Mapping[bool | str | None, bool]
    ) -> str | None:
        if push is None:
            return None
        jid: str = push.payload["jid"]
        return jid if later.get(push.on_commit) else next(answers)

    def _is_deferred(self, wish: bool | str | None, pushes: Sequence[Push | None], robust: bool) -> bool:
        mine = [push for push in pushes if push is not None and push.on_commit == wish]
        return self._defer(wish if isinstance(wish, str) else None, lambda: self._committed(mine), robust)

    def _committed(self, pushes: list[Push]) -> None:
        try:
            jids = self._written(pushes)
        except CogworkerError as error:
            for push in pushes:
                reason = f"{error_class(error)}: {one_line(error_message(error), 200)}"
                logger.error("%s could not be pushed after the commit: %s", _label(push), reason)
            raise
        for push, jid in zip(pushes, jids, strict=True):
            if jid is None:
                logger.warning("%s was refused after the commit: one like it waits or runs", _label(push))

    def _written(self, pushes: list[Push]) -> list[str | None]:
        jids: list[str | None] = []
        for start in range(0, len(pushes), BULK_SIZE):
            jids += self._dispatcher.push(pushes[start : start + BULK_SIZE])
        return jids


def _label(push: Push) -> str:
    return job_label(push.payload["class"], push.payload["jid"])
