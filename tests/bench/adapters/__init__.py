"""How the processes of each peer are started: one module a peer, each with a list VARIANTS.

This side runs in the harness and never imports the peer; apps/<peer>_app.py does, in the peer's environment.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

EVERY = frozenset({"enqueue", "drain1", "drain2", "naps", "latency1", "latency3", "scheduled", "idle", "far", "kill"})
# For a variant that differs from another only in how it hands out and acknowledges.
DELIVERY = frozenset({"drain1", "drain2", "naps", "far", "kill"})


@dataclass(frozen=True)
class Setup:
    """The workers that a scenario asks for."""

    processes: int = 1  # for process pools: children of the pool
    slots: int = 10  # jobs at a time in a process, where the model has that
    queues: tuple[str, ...] = ("q0",)
    scheduler: bool = False  # scheduled jobs must be moved


def no_environ(setup: Setup) -> dict[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to run one peer."""

    name: str
    peer: str  # requirements/<peer>.txt, and the environment made from it
    app: str  # apps/<app>.py
    commands: Callable[[Setup], list[list[str]]]  # argv of each worker; argv[0] is looked up in the environment
    on_kill: str  # what becomes of a running job when its worker gets SIGKILL
    redelivers: bool = False  # at least once: that job runs again
    role: Literal["ours", "peer", "yardstick"] = "peer"
    environ: Callable[[Setup], dict[str, str]] = no_environ
    installed_apps: str = ""  # further INSTALLED_APPS, separated by commas
    scenarios: frozenset[str] = EVERY
    jobs: int = 20_000  # no-op jobs to drain
    naps: int = 5_000
    scheduled: int = 10_000
    bulk: bool = False  # apps/<app>.py has enqueue_bulk
    forks: bool = False  # a process per job
    process_pool: bool = False  # its slots are processes


def load() -> dict[str, Variant]:
    variants: dict[str, Variant] = {}
    for module in pkgutil.iter_modules(__path__):
        for variant in importlib.import_module(f"{__name__}.{module.name}").VARIANTS:
            variants[variant.name] = variant
    return variants
