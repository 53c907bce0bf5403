"""What `manage.py check` says about the settings and the jobs: one error a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import django
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from cogworker_django import conf, runtime
from cogworker_django.core.config import Config
from cogworker_django.core.errors import CogworkerError, ConfigurationError
from cogworker_django.definition import REGISTRY

TAG = "cogworker"
APP_LABEL = "cogworker"
SHORTEST_TOKEN = 16

SETTINGS_ID = "cogworker.E001"
SETTINGS_HINT = "Correct COGWORKER in the project's settings."
HOOKS_ID = "cogworker.E002"
HOOKS_HINT = "Correct the dotted path, or what stands there."
IMPORTS_ID = "cogworker.E003"
IMPORTS_HINT = "Correct the name of the module, or take it out of IMPORTS."
JOBS_ID = "cogworker.E004"
ENTRIES_ID = "cogworker.E005"
ENTRIES_HINT = 'Correct the entry where it is registered, or in COGWORKER["PERIODIC"].'
TASKS_ID = "cogworker.E006"
TASKS_HINT = "Upgrade Django, or take the entry out of TASKS and define jobs with cogworker_django.job."
WEB_ID = "cogworker.E010"
WEB_HINT = "Correct the dotted path, or what stands there."
JOBS_HINT = "Give each job a name of its own with the option name."


def check_cogworker(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Return an error for every fault of the settings, of what they name, and of the registered jobs."""
    if app_configs is not None and all(app.label != APP_LABEL for app in app_configs):
        return []
    return list(_errors())


def install() -> None:
    """Hand the checks to Django; called once, when the app is ready."""
    register(check_cogworker, TAG)
    register(check_deployment, TAG, deploy=True)


def check_deployment(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Return a warning for everything that is dangerous where others can reach it: `check --deploy`."""
    try:
        config = conf.load_config()
    except ConfigurationError:
        return []
    return [*_eviction(), *_access(config)]


def _errors() -> Iterator[CheckMessage]:
    try:
        config = conf.load_config()
    except ConfigurationError as error:
        yield from (Error(problem, hint=SETTINGS_HINT, id=SETTINGS_ID) for problem in error.problems)
    else:
        yield from _problems(lambda: conf.load_hooks(config), HOOKS_ID, HOOKS_HINT)
        yield from _problems(lambda: conf.import_listed(config), IMPORTS_ID, IMPORTS_HINT)
        yield from _problems(lambda: conf.load_entries(config), ENTRIES_ID, ENTRIES_HINT)
        yield from _problems(lambda: conf.load_web(config), WEB_ID, WEB_HINT)
    if django.VERSION < conf.TASKS_SINCE and conf.TASK_BACKEND in conf.task_backend_paths():
        yield Error("TASKS needs Django 6.0 or newer.", hint=TASKS_HINT, id=TASKS_ID)
    yield from (Error(problem, hint=JOBS_HINT, id=JOBS_ID) for problem in REGISTRY.problems())


def _problems(step: Callable[[], object], id: str, hint: str) -> Iterator[CheckMessage]:
    try:
        step()
    except ConfigurationError as error:
        yield from (Error(problem, hint=hint, id=id) for problem in error.problems)


def _eviction() -> Iterator[CheckMessage]:
    try:
        policy = runtime.current().store.server.eviction_policy()
    except CogworkerError:
        return
    if policy not in (None, "noeviction"):
        yield Warning(
            f"Redis throws keys away when its memory is full: its maxmemory-policy is {policy}.",
            hint="Set maxmemory-policy to noeviction: with any other jobs may be lost.",
            id="cogworker.W001",
        )


def _access(config: Config) -> Iterator[CheckMessage]:
    if not any("AuthenticationMiddleware" in name for name in settings.MIDDLEWARE):
        yield Warning(
            "Nobody can log in, so nobody can see the pages.",
            hint="Add django.contrib.auth.middleware.AuthenticationMiddleware to MIDDLEWARE.",
            id="cogworker.W002",
        )
    token = config.web.metrics_token
    if token is not None and len(token) < SHORTEST_TOKEN:
        yield Warning(
            'COGWORKER["WEB"]["METRICS_TOKEN"] can be guessed, and whoever does reads the metrics.',
            hint=f"Take {SHORTEST_TOKEN} random characters or more.",
            id="cogworker.W003",
        )
