"""The backend for `django.tasks`: tasks are jobs like any other, pushed, run and shown by the same means.

Part of the Django edge: it may import everything but the other parts of the edge that import it. Nothing here
connects, queries or reads apps when it is imported, since a backend is built while modules are.
"""

try:
    from cogworker_django.tasks.backend import CogworkerBackend
    from cogworker_django.tasks.errors import TaskRefused, UnstorableResult
    from cogworker_django.tasks.result import CogworkerTaskResult
    from cogworker_django.tasks.task import CogworkerTask
except ModuleNotFoundError as error:
    if error.name != "django.tasks":
        raise
    raise ImportError(
        "cogworker_django.tasks needs Django 6.0 or newer, which brings django.tasks: "
        "upgrade Django, or define jobs with cogworker_django.job"
    ) from None

__all__ = ["CogworkerBackend", "CogworkerTask", "CogworkerTaskResult", "TaskRefused", "UnstorableResult"]
