"""The smallest Django project that the tests need. What a test wants otherwise, it overrides."""

import os
from typing import Any

SECRET_KEY = "only for the tests"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "cogworker_django",
]
MIDDLEWARE = [
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
ROOT_URLCONF = "tests.web.urls"
STATIC_URL = "/static/"
LOGIN_URL = "/login/"
# People and their sessions are in no database.
AUTHENTICATION_BACKENDS = ["tests.web.people.Memory"]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# A test that starts a process hands it the server's address in the environment.
COGWORKER: dict[str, Any] = {"REDIS": os.environ.get("REDIS_URL", "redis://localhost:6379/0")}
