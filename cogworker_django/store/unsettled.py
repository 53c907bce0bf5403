"""Failures whose process could not file them before its end: any other one does (reference, 10.5)."""

from __future__ import annotations

from collections.abc import Iterator

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.jobset_reader import SetName
from cogworker_django.store.settlement import Filing

ASIDE_TTL = 30 * 86_400
"""Seconds that unusable records are kept after the latest one."""
ASIDE_MOST = 1_000
"""How many of them are kept, the newest."""
MOST_SCORE = 1e15
"""Epoch seconds beyond which a score is no time, and before which its text keeps the microseconds' order."""


class Unsettled:
    """The list of records, the oldest on its left.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    def waiting(self) -> Iterator[bytes]:
        """The records, the first one each time; ends when there is none or one stays."""
        previous = None
        while (record := self._gateway.call("LINDEX", self._keys.unsettled, 0)) not in (None, previous):
            previous = record
            yield record

    def file(self, record: bytes, filing: Filing, jid: str) -> bool:
        """Puts the job of a record where it belongs; whether this call did it.

        Args:
            record: as it waits.
            filing: what it says.
            jid: of the job, whose orphan counter goes; empty when it cannot be told.
        """
        keys = self._keys
        where = {SetName.SCHEDULE: keys.schedule, SetName.RETRY: keys.retry, SetName.DEAD: keys.dead}
        names = (keys.unsettled, where[SetName(filing.set)], keys.orphanings(jid), keys.schedule_bell, keys.nothing)
        return bool(self._gateway.run("file_unsettled", names, (record, f"{filing.score:.6f}", filing.entry)))

    def set_aside(self, record: bytes) -> bool:
        """Takes a record out of the others' way that cannot be used; whether this call did it."""
        names = (self._keys.unsettled, self._keys.set_aside, self._keys.nothing)
        return bool(self._gateway.run("set_aside", names, (record, ASIDE_TTL, ASIDE_MOST)))


def record_of(filing: Filing) -> bytes:
    """The record by which a filing is handed over."""
    return codec.encode({"set": filing.set, "score": filing.score, "payload": filing.entry.decode()})


def filing_of(record: bytes) -> Filing:
    """What a record says.

    Raises:
        UnreadablePayload: it is none, and the sentence tells why.
    """
    fields = codec.decode(record)
    where, score, payload = (fields.get(name) for name in ("set", "score", "payload"))
    if where not in list(SetName):
        raise UnreadablePayload(f"its set is {where!r}, not one of {', '.join(SetName)}")
    if not isinstance(score, int | float) or isinstance(score, bool) or not -MOST_SCORE <= score <= MOST_SCORE:
        raise UnreadablePayload("its score is not a time")
    if not isinstance(payload, str):
        raise UnreadablePayload("its payload is no text")
    return Filing(set=str(where), score=float(score), entry=payload.encode())
