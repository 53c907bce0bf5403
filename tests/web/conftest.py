"""Readers with different rights, and a Redis whose content a test decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils.module_loading import import_string

from tests.web.pages import Pages

Login = Callable[..., Pages]


@pytest.fixture(scope="session")
def database() -> None:
    """Tables in the memory of this process; only people are kept there."""
    call_command("migrate", verbosity=0)


@pytest.fixture
def site(redis_url: str) -> Iterator[str]:
    """The project's settings, pointed at the empty server."""
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "t:"}):
        yield redis_url


@pytest.fixture
def login(site: str, redis_client: redis.Redis) -> Login:
    """Log somebody in who has some permissions; a superuser without any named."""

    def logged_in(*rights: str, superuser: bool = False, **client: Any) -> Pages:
        name = "-".join(sorted(rights)) or ("root" if superuser else "nobody")
        # Models can be imported only when Django is set up.
        person = import_string("tests.web.people.enrol")(name, rights, superuser=superuser)
        browser = Client(**client)
        browser.force_login(person, backend="tests.web.people.Memory")
        return Pages(browser, redis_client, site)

    return logged_in


@pytest.fixture
def root(login: Login) -> Pages:
    """Somebody who may do everything."""
    return login(superuser=True)


@pytest.fixture
def viewer(login: Login) -> Pages:
    """Somebody who may look, and nothing else."""
    return login("view_dashboard")
