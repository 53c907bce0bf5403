"""A backend over the worker of a test; nothing of it on a Django without tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import django
import pytest
from django.test import override_settings

from cogworker_django import conf, definition, runtime
from cogworker_django.client import JobClient
from cogworker_django.core.config import HistoryConfig, StatusConfig
from cogworker_django.core.middleware import Chain
from cogworker_django.store.dispatcher import RedisDispatcher
from tests.stores import store
from tests.tasks import work
from tests.worker.rigs import Rig, Rigs, rigs

__all__ = ["rigs", "store"]

if django.VERSION < (6, 0):
    collect_ignore_glob = ["test_*.py"]

BACKEND = "cogworker_django.tasks.CogworkerBackend"
TASKS: dict[str, Any] = {"default": {"BACKEND": BACKEND, "QUEUES": ["default", "low"]}}


@pytest.fixture
def make_rig(rigs: Rigs) -> Iterator[Callable[..., Rig]]:
    """Make a worker whose runtime is that of the process; it keeps statuses and a history unless told otherwise."""
    work.seen.clear()
    work.go.clear()

    def make(**options: Any) -> Rig:
        client_middleware = options.pop("client_middleware", ())
        rig = rigs(**{"status": StatusConfig(), "history": HistoryConfig(), **options})
        client = JobClient(
            runtime.Switch(RedisDispatcher(rig.store.queues)),
            defer=conf.after_commit,
            naive_to_timestamp=conf._in_current_zone,
            registry=definition.REGISTRY,
            chain=Chain([(entry, {}) for entry in client_middleware]),
        )
        rig.runtime = replace(rig.runtime, client=client)
        runtime.install(lambda: rig.runtime)
        return rig

    with override_settings(TASKS=TASKS):
        yield make
    work.go.set()
    runtime.install(conf.build_runtime)


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig()
