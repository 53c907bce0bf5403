"""Which store the classes of this room look at, and which zone they mean."""

from __future__ import annotations

from datetime import datetime

from cogworker_django.runtime import current
from cogworker_django.store.store import Store


def opened(store: Store | None) -> Store:
    """Return the store that was given, else the current runtime's."""
    return current().store if store is None else store


def in_current_zone(naive: datetime) -> float:
    """Read a naive datetime as a push does: in the project's current zone; return epoch seconds."""
    return current().client.timestamp(naive)
