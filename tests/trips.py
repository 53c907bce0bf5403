"""Trips as a worker makes them, for the tests of the script behind them."""

from __future__ import annotations

from typing import Any

from cogworker_django.store.settlement import Command, Settlement
from cogworker_django.store.store import Store
from cogworker_django.store.trips import Landing, Trip, Trips

ME = "host:1:abc"
IN_PROGRESS = f"t:inprogress:{ME}"


class Traveller:
    """One process's trips, with its counter of tokens.

    Args:
        store: where to.
        identity: of the process.
        reliable: False for basic mode.
    """

    def __init__(self, store: Store, identity: str = ME, *, reliable: bool = True) -> None:
        self.trips: Trips = store.trips(identity, reliable=reliable)
        self._clock = store.clock
        self._next = 1

    def go(self, wanted: int = 0, *picks: tuple[str, int] | str, **fields: Any) -> Landing:
        """One trip; a pick that is only a name has no jobs of its own drawn, but may fill up."""
        first, self._next = self._next, self._next + wanted
        named = [pick if isinstance(pick, tuple) else (pick, wanted) for pick in picks or ("default",)]
        defaults: dict[str, Any] = {"progress": "0 10", "done": (), "verdicts": (), "waiting": wanted, "first": first}
        trip = Trip(**{**defaults, "wanted": wanted, "picks": named, **fields})
        return self.trips.exchange(trip, self._clock.now())

    def fetch(self, wanted: int = 1, *picks: tuple[str, int] | str, **fields: Any) -> list[tuple[str, bytes]]:
        """The jobs of one trip: queue and raw, in the order of their tokens."""
        landing = self.go(wanted, *picks, **fields)
        return [(queue, raw) for queue, raws in landing.jobs for raw in raws]


def verdict(
    token: str, *essential: Command, kind: str = "failed", beside: list[Command] | None = None, jid: str = "j"
) -> Settlement:
    """A verdict with commands of the test's own."""
    return Settlement(token=token, jid=jid, kind=kind, essential=list(essential), beside=beside or [])
