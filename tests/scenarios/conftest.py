"""Fixtures of the scenarios: a seed, and a rig over a server of the test's own."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.proxy import Proxy
from tests.scenarios.rig import Rig
from tests.support import StartServer

StartRig = Callable[..., Rig]


@pytest.fixture
def seeded() -> random.Random:
    """Chance that can be replayed: pytest shows the seed of a failed test, `COGWORKER_SEED` gives it again."""
    seed = int(os.environ.get("COGWORKER_SEED") or random.SystemRandom().randrange(2**32))
    print(f"COGWORKER_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def start_rig(tmp_path: Path, start_server: StartServer, seeded: random.Random) -> Iterator[StartRig]:
    """Make a rig: `start_rig(persistent=False, server_flags=(), **settings)`."""
    started: list[Rig] = []

    def start(*, persistent: bool = False, server_flags: tuple[str, ...] = (), **settings: Any) -> Rig:
        rig = Rig(tmp_path, start_server(*server_flags, persistent=persistent), seeded, settings)
        started.append(rig)
        return rig

    yield start
    for rig in started:
        rig.close()


@pytest.fixture
def rig(start_rig: StartRig) -> Rig:
    """A rig with the usual settings."""
    return start_rig()


@pytest.fixture
def lasting(start_rig: StartRig) -> Rig:
    """A rig whose server keeps its data over a crash."""
    return start_rig(persistent=True)


@pytest.fixture
def proxy(rig: Rig) -> Iterator[Proxy]:
    """A proxy in front of the rig's server; workers are told its address."""
    made = Proxy(rig.server.port)
    yield made
    made.close()
