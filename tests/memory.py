"""A dispatcher that keeps what it is given: the package's own port, for tests of what happens before Redis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from cogworker_django import definition, runtime
from cogworker_django.client import JobClient
from cogworker_django.core.config import Config
from cogworker_django.core.dispatch import Push
from cogworker_django.core.middleware import Chain
from cogworker_django.runtime import Runtime
from cogworker_django.store.store import Store


class MemoryDispatcher:
    def __init__(self) -> None:
        self.calls: list[list[Push]] = []
        self.refused: set[str] = set()
        self.error: Exception | None = None

    @property
    def pushes(self) -> list[Push]:
        return [push for call in self.calls for push in call]

    def push(self, pushes: Sequence[Push]) -> list[str | None]:
        if self.error is not None:
            raise self.error
        self.calls.append(list(pushes))
        return [None if push.payload["class"] in self.refused else push.payload["jid"] for push in pushes]


@contextmanager
def memory_runtime() -> Iterator[MemoryDispatcher]:
    """Make the process's runtime one that pushes into memory; the one there was comes back."""
    dispatcher = MemoryDispatcher()
    built = Runtime(
        config=Config(),
        registry=definition.REGISTRY,
        store=Store(Config()),
        client=JobClient(dispatcher, registry=definition.REGISTRY),
        server_chain=Chain(),
        death_handlers=(),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "_HOLDER", type(runtime._HOLDER)())
        runtime.install(lambda: built)
        yield dispatcher
