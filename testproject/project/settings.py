"""The settings of the project. `manage.py demo` hands in a server and a database of its own."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = "only for the demonstration"
DEBUG = False
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "cogworker_django",
    "demo",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "project.urls"
STATIC_URL = "/static/"
LOGIN_URL = "admin:login"

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("DEMO_DATABASE", BASE_DIR / "db.sqlite3"),
        # Several worker processes write at the same time: they wait for each other instead of failing.
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        "CONN_MAX_AGE": 60,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ = True
TIME_ZONE = "UTC"

# The address is that of REDIS_URL, or redis://localhost:6379/0.
COGWORKER = {
    "QUEUES": {"default": 2, "low": 1},
    "CONCURRENCY": 5,
    # How long a process must be silent before its jobs are taken over. The demonstration is less patient.
    "ORPHAN_THRESHOLD": float(os.environ.get("DEMO_ORPHAN_THRESHOLD", "300")),
    "DEATH_HANDLERS": ["demo.jobs.report_death"],
    "WEB": {"ENVIRONMENT": {"label": "demo", "tone": "info"}, "LIVE_UPDATE_INTERVAL": 2},
}

# The jobs' own log and the worker's. If nothing were said about "cogworker", it would write to stdout by itself.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s pid=%(process)d %(levelname)s: %(message)s", "datefmt": "%H:%M:%S"},
    },
    "filters": {"calm": {"()": "demo.calm.Calm"}},
    "handlers": {
        "stdout": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["calm"],
            "stream": "ext://sys.stdout",
        },
    },
    "loggers": {
        "demo": {"handlers": ["stdout"], "level": "INFO"},
        "cogworker": {"handlers": ["stdout"], "level": "INFO"},
        # Who pressed which button is not what the demonstration tells.
        "cogworker.web": {"level": "WARNING"},
    },
}
