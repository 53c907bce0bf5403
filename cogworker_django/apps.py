"""The Django app: what happens when Django has loaded it."""

from django.apps import AppConfig


class CogworkerConfig(AppConfig):
    """The app `cogworker`."""

    name = "cogworker_django"
    label = "cogworker"
    verbose_name = "Cogworker"
    default_auto_field = "django.db.models.BigAutoField"
