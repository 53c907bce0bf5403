"""What `manage.py check` says about the settings and the jobs: one error a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import django
from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register

from cogworker_django import conf
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.definition import REGISTRY
from cogworker_django.deploy_checks import check_deployment

TAG = "cogworker"
APP_LABEL = "cogworker"

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
