"""Which store the classes of this room look at."""

from __future__ import annotations

from cogworker_django.runtime import current
from cogworker_django.store.store import Store


def opened(store: Store | None) -> Store:
    """Return the store that was given, else the current runtime's."""
    return current().store if store is None else store
