"""A minimal Django project, loaded by every worker and client, so that memory compares."""

import os

REDIS_URL = os.environ.get("BENCH_REDIS_URL", "redis://127.0.0.1:7390/0")
QUEUES = os.environ.get("BENCH_QUEUES", "q0").split(",")

SECRET_KEY = "bench"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth"]
INSTALLED_APPS += [app for app in os.environ.get("BENCH_APPS", "").split(",") if app]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

RQ_QUEUES = {name: {"URL": REDIS_URL} for name in QUEUES}
COGWORKER: dict[str, object] = {"REDIS": REDIS_URL, "QUEUES": QUEUES}
if os.environ.get("BENCH_FEATURES") != "full":
    COGWORKER |= {"STATUS": None, "HISTORY": None}
# All workers log warnings only; the others are told on their command lines.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"cogworker": {"handlers": ["console"], "level": "WARNING", "propagate": False}},
}
