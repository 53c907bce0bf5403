"""The smallest Django project that the tests need. What a test wants otherwise, it overrides."""

import os
from typing import Any

SECRET_KEY = "only for the tests"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "cogworker_django"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# A test that starts a process hands it the server's address in the environment.
COGWORKER: dict[str, Any] = {"REDIS": os.environ.get("REDIS_URL", "redis://localhost:6379/0")}
