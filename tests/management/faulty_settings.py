"""A project whose settings are wrong in two places."""

from tests.settings import DATABASES, INSTALLED_APPS, SECRET_KEY, USE_TZ

__all__ = ["COGWORKER", "DATABASES", "INSTALLED_APPS", "SECRET_KEY", "USE_TZ"]

COGWORKER = {"CONCURRENCY": "ten", "QUEUES": ["default", "no such queue"]}
