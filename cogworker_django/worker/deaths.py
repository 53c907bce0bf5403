"""Death hooks: who asked to be told when a job dies for good (reference, 12.5)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.events import SILENCE, Announcer, Event
from cogworker_django.core.hooks import call_with_fitting
from cogworker_django.core.registry import Registry
from cogworker_django.core.text import error_class, error_message, one_line
from cogworker_django.definition import Job

logger = logging.getLogger("cogworker")

Handler = Callable[..., Any]


class DeathHooks:
    """Calls the job's own hook, then the handlers, each alone with its own copy of the entry.

    Args:
        registry: where the job's class is looked up.
        handlers: `DEATH_HANDLERS`, in order.
        announcer: is told, too, after them.
    """

    def __init__(
        self, registry: Registry[type[Job]], handlers: Sequence[Handler], announcer: Announcer = SILENCE
    ) -> None:
        self._announcer = announcer
        self._registry = registry
        self._handlers = tuple(handlers)

    def wanted(self, name: str) -> bool:
        """Whether anybody asked to be told of the death of a job with this name."""
        job_class = self._registry.get(name)
        if self._handlers or self._announcer.wanted(Event.JOB_DEAD):
            return True
        return job_class is not None and job_class.has_retries_exhausted

    def run(self, entry: bytes, error: BaseException) -> None:
        """Tells everybody; called once, by the process whose write put the entry into dead.

        Args:
            entry: as it is stored in dead.
            error: what the job died of.
        """
        job_class = self._registry.get(str(codec.decode(entry)["class"]))
        if job_class is not None and job_class.has_retries_exhausted:
            self._call(_own_hook(job_class), entry, error)
        for handler in self._handlers:
            self._call(handler, entry, error)
        if self._announcer.wanted(Event.JOB_DEAD):
            self._announcer.tell(Event.JOB_DEAD, payload=codec.decode(entry), error=error)

    def _call(self, hook: Handler, entry: bytes, error: BaseException) -> None:
        payload = codec.decode(entry)
        try:
            call_with_fitting(hook, payload, error)
        except BaseException as trouble:  # noqa: BLE001 - a hook, even one that exits, costs nobody anything
            name = getattr(hook, "__qualname__", type(hook).__name__)
            reason = f"{error_class(trouble)}: {one_line(error_message(trouble), 200)}"
            logger.error("death hook %s failed for jid=%s: %s", name, one_line(str(payload.get("jid"))), reason)


def _own_hook(job_class: type[Job]) -> Handler:
    """The hook of the job itself, on an instance as for a run; making that one is the job's own code too."""

    def retries_exhausted(payload: dict[str, Any], error: BaseException) -> Any:
        return call_with_fitting(job_class.start(payload).retries_exhausted, payload, error)

    retries_exhausted.__qualname__ = f"{job_class.__qualname__}.retries_exhausted"
    return retries_exhausted
