"""Reads Django's settings and builds a process's runtime from them.

What the engine needs of the project comes from here: the settings, the middleware and handlers that they
name, the jobs' modules, the current time zone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module
from typing import Any

import django
from django.conf import settings
from django.db import transaction
from django.utils.module_loading import autodiscover_modules, import_string
from django.utils.timezone import make_aware

from cogworker_django import runtime, schedule
from cogworker_django.cache_target import cache_target
from cogworker_django.client import JobClient
from cogworker_django.core.config import PLACE, Config
from cogworker_django.core.entry import Entry, entries
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.middleware import Chain
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.core.settings import Problems
from cogworker_django.definition import REGISTRY
from cogworker_django.dotted_paths import imported_callable, imported_handlers, imported_middleware
from cogworker_django.features.announcing import AnnouncingDispatcher
from cogworker_django.signals import Signals
from cogworker_django.store.dispatcher import RedisDispatcher
from cogworker_django.store.store import Store

JOBS_MODULE = "jobs"  # what is imported of every installed app
TASKS_MODULE = "tasks"  # and this where tasks are jobs
TASK_BACKEND = "cogworker_django.tasks.CogworkerBackend"
TASKS_SINCE = (6, 0)  # the version of Django that has them
SERVER_ARGUMENTS = 4  # job, payload, queue, proceed
REDACT_ARGUMENTS = 3  # name, args, kwargs
CLIENT_ARGUMENTS = 5  # name, payload, queue, redis, proceed


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What the settings name by dotted path, imported."""

    client_chain: Chain
    server_chain: Chain
    death_handlers: tuple[Callable[..., Any], ...]


def load_config() -> Config:
    """Read the settings as they are now.

    Raises:
        ConfigurationError: with every fault.
    """
    return Config.parse(getattr(settings, PLACE, {}), os.environ, _cache_target)


def load_hooks(config: Config) -> Hooks:
    """Import what the settings name.

    Raises:
        ConfigurationError: with everything that cannot be imported or called, each with its key.
    """
    problems = Problems()
    client = imported_middleware(config.client_middleware, f'{PLACE}["CLIENT_MIDDLEWARE"]', CLIENT_ARGUMENTS, problems)
    server = imported_middleware(
        config.server_middleware, f'{PLACE}["SERVER_MIDDLEWARE"]', SERVER_ARGUMENTS, problems, asynchronous=True
    )
    handlers = imported_handlers(config.death_handlers, f'{PLACE}["DEATH_HANDLERS"]', problems)
    problems.check()
    return Hooks(client_chain=Chain(client), server_chain=Chain(server), death_handlers=handlers)


def import_jobs() -> None:
    """Import the modules in which jobs are defined, so that the registry knows them.

    A module of `IMPORTS` that is missing is left to the checks, which report it with the other faults.
    """
    autodiscover_modules(JOBS_MODULE)
    if uses_tasks():
        autodiscover_modules(TASKS_MODULE)
    try:
        import_listed(load_config())
    except ConfigurationError:
        return


def uses_tasks() -> bool:
    """Whether an entry of `TASKS` has our backend, so that modules named `tasks` define jobs."""
    return django.VERSION >= TASKS_SINCE and any(map(_is_ours, task_backend_paths()))


def task_backend_paths() -> list[str]:
    """The backends that `TASKS` names, as far as it can be read."""
    entries = getattr(settings, "TASKS", None)
    entries = entries.values() if isinstance(entries, dict) else ()
    return [str(entry.get("BACKEND")) for entry in entries if isinstance(entry, dict)]


def _is_ours(path: str) -> bool:
    if path == TASK_BACKEND:
        return True
    try:
        return bool(getattr(import_string(path), "is_cogworker", False))
    except ImportError:
        # Django's own check tells.
        return False


def import_listed(config: Config) -> None:
    """Import the modules of `IMPORTS`.

    Raises:
        ConfigurationError: naming each that does not exist. What goes wrong inside one is raised as it is.
    """
    problems = Problems()
    for index, name in enumerate(config.imports):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            problems.add(f'{PLACE}["IMPORTS"][{index}]', f"there is no module {name}.")
    problems.check()


def load_web(config: Config) -> None:
    """Import what `WEB` names by dotted path.

    Raises:
        ConfigurationError: with everything that cannot be imported or called, each with its key.
    """
    problems = Problems()
    for index, name in enumerate(config.web.extensions):
        try:
            import_module(name)
        except ImportError as error:
            problems.add(f'{PLACE}["WEB"]["EXTENSIONS"][{index}]', f"cannot be imported: {error}.")
    if isinstance(config.web.redact, str):
        with problems:
            imported_callable(config.web.redact, f'{PLACE}["WEB"]["REDACT"]', REDACT_ARGUMENTS)
    problems.check()


def load_entries(config: Config) -> tuple[Entry, ...]:
    """Check the periodic entries of the code and of the settings.

    Raises:
        ConfigurationError: with every fault, each naming its entry and field.
    """
    declared = [*schedule.periodic.declared, *schedule.from_settings(config.periodic)]
    return entries(declared, REGISTRY, zone=default_zone(), catch_up=config.periodic_catch_up)


def build_runtime(*, concurrency: int | None = None) -> runtime.Runtime:
    """Build what a process has of the package. Nothing connects yet.

    Args:
        concurrency: threads that will share the connections, if not as many as the settings say.

    Raises:
        ConfigurationError: with every fault of the settings.
    """
    config = load_config()
    if concurrency is not None:
        config = replace(config, concurrency=concurrency)
    hooks = load_hooks(config)
    store = Store(config)
    announcer = Signals()
    client = JobClient(
        AnnouncingDispatcher(runtime.Switch(RedisDispatcher(store.queues)), announcer),
        defer=after_commit,
        registry=REGISTRY,
        chain=hooks.client_chain,
        redis=store.client,
        max_payload_bytes=config.max_payload_bytes,
        naive_to_timestamp=_in_current_zone,
    )
    return runtime.Runtime(
        config=config,
        registry=REGISTRY,
        store=store,
        client=client,
        server_chain=hooks.server_chain,
        death_handlers=hooks.death_handlers,
        announcer=announcer,
    )


def after_commit(using: str | None, step: Callable[[], None], robust: bool) -> bool:
    """Have a step run after the commit of the transaction that is open on a database; see `outbox.Defer`."""
    if runtime.commits_at_once() or not transaction.get_connection(using).in_atomic_block:
        return False
    transaction.on_commit(step, using=using, robust=robust)
    return True


def default_zone() -> str:
    """The zone of periodic entries that name none."""
    return str(settings.TIME_ZONE)


def reset_on_change(*, setting: str, **_: object) -> None:
    """Drop the runtime when a test has overridden what it was built from."""
    if setting in (PLACE, "CACHES"):
        runtime.reset()


def _cache_target(alias: str, place: str) -> RedisTarget:
    return cache_target(settings.CACHES, alias, place)


def _in_current_zone(naive: datetime) -> float:
    return make_aware(naive).timestamp()
