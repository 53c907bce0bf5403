"""Telling of jobs that were pushed, or refused."""

from __future__ import annotations

from collections.abc import Sequence

from cogworker_django.core.arguments import duplicate
from cogworker_django.core.dispatch import Dispatcher, Push
from cogworker_django.core.events import Announcer, Event


class AnnouncingDispatcher:
    """Hands jobs on, and tells what became of them.

    Args:
        dispatcher: writes them.
        announcer: tells.
    """

    def __init__(self, dispatcher: Dispatcher, announcer: Announcer) -> None:
        self._dispatcher = dispatcher
        self._announcer = announcer

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        """Write jobs; see `Dispatcher.push`."""
        jids = self._dispatcher.push(pushes)
        for push, jid in zip(pushes, jids, strict=True) if self._is_anybody_there() else ():
            announce(self._announcer, Event.JOB_REFUSED if jid is None else Event.JOB_ENQUEUED, push)
        return jids

    def _is_anybody_there(self) -> bool:
        return self._announcer.wanted(Event.JOB_ENQUEUED) or self._announcer.wanted(Event.JOB_REFUSED)


def announce(announcer: Announcer, event: Event, push: Push) -> None:
    """Tell of one job, with a payload of the receivers' own.

    Args:
        announcer: tells.
        event: what became of it.
        push: the job.
    """
    if announcer.wanted(event):
        announcer.tell(event, payload=duplicate(push.payload))
