"""What `manage.py check` says about an entry of `TASKS`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.apps import apps
from django.core.checks import CheckMessage, Error, Warning

from cogworker_django import conf
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.names import check_queue
from cogworker_django.core.options import JobOptions
from cogworker_django.core.text import described
from cogworker_django.tasks.task import DEFAULTS

if TYPE_CHECKING:
    from django.tasks.backends.base import BaseTaskBackend

NOT_INSTALLED_ID = "cogworker.E007"
OPTIONS_ID = "cogworker.E008"
QUEUE_NAME_ID = "cogworker.E009"
UNSERVED_ID = "cogworker.W001"
NO_STATUS_ID = "cogworker.W002"

APP = "cogworker_django"


def faults(backend: BaseTaskBackend) -> Iterator[CheckMessage]:
    """Find what is wrong with an entry.

    Args:
        backend: made from it.
    """
    place = f'TASKS["{backend.alias}"]'
    if not apps.is_installed(APP):
        hint = f'Add "{APP}" to INSTALLED_APPS.'
        yield Error(f"{place} needs the app {APP}, which is not installed.", hint=hint, id=NOT_INSTALLED_ID)
    yield from _of_options(backend, place)
    yield from _of_queues(backend, place)


def _of_options(backend: BaseTaskBackend, place: str) -> Iterator[CheckMessage]:
    hint = f"It may say {', '.join(DEFAULTS)}; other options belong to the task."
    for name, value in backend.options.items():
        where = f'{place}["OPTIONS"][{described(name)}]'
        if name not in DEFAULTS:
            yield Error(f"{where}: there is no such option.", hint=hint, id=OPTIONS_ID)
            continue
        try:
            JobOptions().merged(**{name: value})
        except (TypeError, ValueError) as error:
            yield Error(f"{where}: {error}.", hint=hint, id=OPTIONS_ID)


def _of_queues(backend: BaseTaskBackend, place: str) -> Iterator[CheckMessage]:
    try:
        config = conf.load_config()
    except ConfigurationError:
        # The check of the settings tells.
        return
    if config.status is None:
        message = f'{place}: results are not kept while COGWORKER["STATUS"] is None.'
        hint = "A task that has succeeded shows so for as long as the history does, but not what it returned."
        yield Warning(message, hint=hint, id=NO_STATUS_ID)
    served = {name for name, _ in config.queues}
    for name in sorted(map(str, backend.queues)):
        try:
            check_queue(name)
        except (TypeError, ValueError) as error:
            yield Error(f'{place}["QUEUES"]: {error}.', hint="Give the queue another name.", id=QUEUE_NAME_ID)
            continue
        if name not in served:
            message = f'{place}["QUEUES"]: COGWORKER["QUEUES"] does not name {name!r}, so a worker does not serve it.'
            hint = "Add it there; or silence this check if workers for it are started with -q."
            yield Warning(message, hint=hint, id=UNSERVED_ID)
