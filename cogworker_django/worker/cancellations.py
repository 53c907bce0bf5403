"""The jobs in this process's hands that somebody has cancelled."""

from __future__ import annotations

from collections import OrderedDict

MOST = 10_000
"""Of jobs that never came to a start here; the oldest are forgotten first."""


class Cancellations:
    """Remembers the ids of cancelled jobs until they start."""

    def __init__(self) -> None:
        self._jids: OrderedDict[str, None] = OrderedDict()

    def add(self, jid: str) -> None:
        """A job shall not start."""
        self._jids[jid] = None
        while len(self._jids) > MOST:
            self._jids.popitem(last=False)

    def take(self, jid: str) -> bool:
        """Whether a job that is about to start shall not; asked once a job, from any thread."""
        return bool(self._jids) and self._jids.pop(jid, self) is not self
