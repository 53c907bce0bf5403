"""A form that is sent twice acts once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cogworker_django.api.door import opened
from cogworker_django.store.store import Store


@contextmanager
def once(token: str, store: Store | None = None) -> Iterator[bool]:
    """Say whether a form acts now, or has acted already; a form whose action raises may be sent again.

    Args:
        token: names the form; one without a name acts each time.
        store: where it is remembered; by default the current runtime's.
    """
    if not token:
        yield True
        return
    memory = opened(store).once
    first = memory.first(token)
    try:
        yield first
    except Exception:
        if first:
            memory.release(token)
        raise
