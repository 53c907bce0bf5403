"""How all processes of a worker are, and what is answered to those who ask: `/livez`, `/readyz`, `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from cogworker_django.core import codec
from cogworker_django.process import metrics
from cogworker_django.process.condition import STALE, Condition, Phase

JSON, TEXT = "application/json", "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to one question."""

    status: HTTPStatus
    body: bytes
    kind: str = JSON


class Board:
    """Keeps the latest condition of each process, by the number of its slot.

    Args:
        monotonic: the clock, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._told: dict[int, tuple[float, Condition]] = {}
        self.stopping = False
        """Whether the whole of it has been told to stop."""

    def post(self, slot: int, condition: Condition) -> None:
        """Note how a process is."""
        # A new dict: another thread may be reading the old one.
        self._told = {**self._told, slot: (self._now(), condition)}

    def drop(self, slot: int) -> None:
        """Forget a process that has ended."""
        self._told = {number: told for number, told in self._told.items() if number != slot}

    @property
    def conditions(self) -> dict[int, Condition]:
        """The latest condition of each process."""
        return {slot: condition for slot, (_, condition) in sorted(self._told.items())}

    @property
    def stuck(self) -> list[int]:
        """The slots of processes that have gone silent, or that know a thread of theirs which has."""
        limit = self._now() - STALE
        return [slot for slot, (at, condition) in sorted(self._told.items()) if condition.stuck or at < limit]

    @property
    def unready(self) -> str:
        """Why no process takes jobs; empty when at least one does."""
        if self.stopping:
            return str(Phase.STOPPING)
        stuck = self.stuck
        reasons = {slot: "stuck" if slot in stuck else each.unready for slot, each in self.conditions.items()}
        if "" in reasons.values():
            return ""
        return "; ".join(sorted(set(reasons.values()))) or str(Phase.BOOTING)

    def answer(self, path: str) -> Answer:
        """Answer one question.

        Args:
            path: of the request; a query behind it is no matter.

        Returns:
            200 when all is well, 503 when not, 404 for what is not known here.
        """
        name = path.partition("?")[0]
        if name == "/livez":
            stuck = self.stuck
            return _verdict(f"slots {', '.join(map(str, stuck))} give no sign" if stuck else "")
        if name == "/readyz":
            return _verdict(self.unready)
        if name == "/metrics":
            return Answer(HTTPStatus.OK, metrics.text(self.conditions), metrics.CONTENT_TYPE)
        return Answer(HTTPStatus.NOT_FOUND, b"Here are /livez, /readyz and /metrics.\n", TEXT)


def _verdict(reason: str) -> Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if reason else HTTPStatus.OK
    return Answer(status, codec.encode({"ok": not reason, **({"reason": reason} if reason else {})}) + b"\n")
