"""Filing the failures that other processes could not file before their end (reference, 10.5)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from cogworker_django.core.errors import JobFailedError, UnreadablePayload
from cogworker_django.core.payload import Payload, read
from cogworker_django.core.text import one_line, scrub
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.settlement import Filing
from cogworker_django.store.unsettled import Unsettled, filing_of
from cogworker_django.worker.deaths import DeathHooks

logger = logging.getLogger("cogworker")

SHOWN = 200
"""Characters of an unusable record in the log."""


class Filer:
    """Takes the records from the oldest on; the first that cannot be filed ends a pass, so that their order stays.

    Args:
        unsettled: the records.
        deaths: the death hooks.
        hand_over: takes death hooks to a processor thread.
    """

    def __init__(
        self, unsettled: Unsettled, deaths: DeathHooks, hand_over: Callable[[Callable[[], None]], None]
    ) -> None:
        self._unsettled = unsettled
        self._deaths = deaths
        self._hand_over = hand_over

    def look(self) -> None:
        """Files what waits.

        Raises:
            RedisUnavailable: the rest waits on.
            RedisRefused: a set cannot take its entry; it and those behind it wait on.
        """
        for record in self._unsettled.waiting():
            try:
                filing = filing_of(record)
            except UnreadablePayload as error:
                self._set_aside(record, error)
            else:
                self._file(record, filing)

    def _set_aside(self, record: bytes, error: UnreadablePayload) -> None:
        if self._unsettled.set_aside(record):
            shown = one_line(scrub(record, SHOWN + 1), SHOWN)
            logger.error("an unusable record of a failure was set aside, %s: %s", one_line(str(error), SHOWN), shown)

    def _file(self, record: bytes, filing: Filing) -> None:
        job = _job(filing)
        jid = job["jid"] if job else ""
        if not self._unsettled.file(record, filing, jid):
            return
        logger.warning("filed the failure of jid=%s in %s for a process that could not", one_line(jid), filing.set)
        if job and filing.set == SetName.DEAD and self._deaths.wanted(job["class"]):
            error = JobFailedError(str(job.get("error_message", "")))
            self._hand_over(partial(self._deaths.run, filing.entry, error))


def _job(filing: Filing) -> Payload | None:
    """The job of a filing; None when its bytes are no job."""
    try:
        return read(filing.entry)
    except UnreadablePayload:
        return None
