"""What `manage.py check --deploy` says (contract 9)."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.core.checks import CheckMessage, run_checks
from django.test import override_settings
from django.urls import include, path

from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.deploy_checks import _has_password, _hosts, _is_near
from tests.support import StartServer

AUTH = "django.contrib.auth.middleware.AuthenticationMiddleware"
QUIET = {"cogworker.W011"}
"""Nothing listens where the settings of a test say."""


class OwnAuthentication(AuthenticationMiddleware):
    """A project's own."""


def told(**cogworker: Any) -> list[CheckMessage]:
    settings = {"REDIS": "redis://127.0.0.1:1/0", **cogworker}
    with override_settings(COGWORKER=settings):
        messages = run_checks(tags=["cogworker"], include_deployment_checks=True)
        assert run_checks(tags=["cogworker"]) == [each for each in messages if each.id and "E0" in each.id]
    assert all(message.hint for message in messages)
    return messages


def ids(**cogworker: Any) -> set[str]:
    return {str(message.id) for message in told(**cogworker)}


@pytest.fixture
def urls() -> Iterator[types.ModuleType]:
    """A project with the pages and a log-in page."""
    module = types.ModuleType("urls_of_the_test")
    page: Any = lambda request: None  # noqa: E731
    pages = ([path("", page, name="overview")], "cogworker")
    module.urlpatterns = [path("jobs/", include(pages)), path("enter/", page)]  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    with override_settings(ROOT_URLCONF=module.__name__, LOGIN_URL="/enter/"):
        yield module
    del sys.modules[module.__name__]


@pytest.fixture
def no_pages() -> Iterator[None]:
    """A project that does not include the pages."""
    with override_settings(ROOT_URLCONF=None):
        yield


@pytest.mark.usefixtures("no_pages")
def test_a_sound_server_has_nothing_to_report(start_server: StartServer) -> None:
    server = start_server(persistent=True)
    assert told(REDIS=server.url) == []


@pytest.mark.usefixtures("no_pages")
def test_a_server_that_throws_away_or_forgets_is_told_of(redis_url: str, redis_client: redis.Redis) -> None:
    redis_client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        messages = told(REDIS=redis_url)
    finally:
        redis_client.config_set("maxmemory-policy", "noeviction")
    assert [(message.id, message.msg) for message in messages] == [
        ("cogworker.W010", "Redis may throw jobs away when it is full: its maxmemory-policy is allkeys-lru."),
        ("cogworker.W013", "Redis writes no append-only file: what it has confirmed is lost with it."),
    ]


@pytest.mark.usefixtures("no_pages")
def test_a_server_that_is_away_is_told_of_and_not_waited_for() -> None:
    (message,) = told()
    assert message.id == "cogworker.W011"
    assert message.msg.startswith("Redis at redis://127.0.0.1:1/0 could not be asked: ")


def test_faults_of_the_settings_are_told_once() -> None:
    assert ids(CONCURRENCY="many") == {"cogworker.E001"}


@pytest.mark.parametrize(
    ("target", "hosts", "password"),
    [
        (RedisTarget(url="redis://redis.internal:6379/0"), ["redis.internal"], False),
        (RedisTarget(url="rediss://user:secret@10.0.0.5/0"), ["10.0.0.5"], True),
        (RedisTarget(url="redis:///0"), ["localhost"], False),
        (RedisTarget(url="unix:///run/redis.sock"), [], False),
        (RedisTarget(url="redis://h?password=secret"), ["h"], True),
        (RedisTarget(host="::1"), ["::1"], False),
        (RedisTarget(host="h", password="secret"), ["h"], True),
        (RedisTarget(url="redis://h", options={"password": "secret"}), ["h"], True),
        (RedisTarget(sentinels=(("a", 1), ("b", 2)), service="main"), ["a", "b"], False),
    ],
)
def test_who_gets_at_the_server_is_read_from_its_address(target: RedisTarget, hosts: list[str], password: bool) -> None:
    assert _hosts(target) == hosts
    assert _has_password(target) is password


@pytest.mark.parametrize(
    ("host", "near"), [("localhost", True), ("127.0.0.9", True), ("::1", True), ("10.0.0.5", False)]
)
def test_this_machine_is_known_by_its_names(host: str, near: bool) -> None:
    assert _is_near(host) is near
    assert not _is_near("redis.internal")


def test_a_server_elsewhere_needs_a_password() -> None:
    """Its message names the place and no secret."""
    messages = {message.id: message.msg for message in told(REDIS="redis://127.0.0.1.invalid:1/0")}
    assert messages["cogworker.W012"] == "Redis at redis://127.0.0.1.invalid:1/0 is asked without a password."
    assert "cogworker.W012" not in ids(REDIS="redis://:secret@127.0.0.1.invalid:1/0")


@pytest.mark.parametrize("middleware", [AUTH, "tests.test_deploy_checks.OwnAuthentication"])
def test_pages_with_a_log_in_are_sound(urls: types.ModuleType, middleware: str) -> None:
    with override_settings(MIDDLEWARE=[middleware]):
        assert ids() == QUIET
        assert ids(WEB={"LOGIN_URL": "https://sso.example.org/"}) == QUIET


def test_pages_without_a_log_in_are_told_of(urls: types.ModuleType) -> None:
    with override_settings(MIDDLEWARE=["no.such.Middleware"], LOGIN_URL="/nowhere/"):
        messages = {message.id: message.msg for message in told()}
    assert messages["cogworker.W014"] == "The pages need to know who asks."
    assert messages["cogworker.W015"] == "The log-in page /nowhere/ does not exist."


@pytest.mark.usefixtures("urls")
def test_a_project_without_the_pages_needs_none() -> None:
    with override_settings(ROOT_URLCONF="tests.empty_urls", MIDDLEWARE=[]):
        sys.modules["tests.empty_urls"] = types.ModuleType("tests.empty_urls")
        sys.modules["tests.empty_urls"].urlpatterns = []  # type: ignore[attr-defined]
        assert ids() == QUIET
        del sys.modules["tests.empty_urls"]
