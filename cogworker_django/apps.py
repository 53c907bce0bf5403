"""The Django app: what happens when Django has loaded it. No query, no connection, no thread."""

from django.apps import AppConfig
from django.core.signals import setting_changed

from cogworker_django import checks, conf, runtime, schedule


class CogworkerConfig(AppConfig):
    """The app `cogworker`."""

    name = "cogworker_django"
    label = "cogworker"
    verbose_name = "Cogworker"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say how the runtime is built, and import the modules in which the project defines its jobs."""
        runtime.install(conf.build_runtime)
        schedule.periodic.default_zone = conf.default_zone
        setting_changed.connect(conf.reset_on_change, dispatch_uid="cogworker.runtime")
        checks.install()
        conf.import_jobs()
