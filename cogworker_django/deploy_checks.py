"""What `manage.py check --deploy` says: whether Redis keeps what it is given, and who gets at it and at the pages."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from django.utils.module_loading import import_string

from cogworker_django import conf
from cogworker_django.core.config import Config
from cogworker_django.core.errors import CogworkerError, ConfigurationError
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.store.store import Store

EVICTION_ID = "cogworker.W010"
EVICTION_HINT = "Set maxmemory-policy to noeviction."
UNREACHABLE_ID = "cogworker.W011"
UNREACHABLE_HINT = "Run the check where the workers run, or start Redis."
PASSWORD_ID = "cogworker.W012"
PASSWORD_HINT = "Give it one: whoever reaches it can have any job run, and read all arguments."
PERSISTENCE_ID = "cogworker.W013"
PERSISTENCE_HINT = "Set appendonly to yes, unless jobs may be lost with the server."
LOGIN_ID = "cogworker.W014"
LOGIN_HINT = "Add AuthenticationMiddleware to MIDDLEWARE: without it nobody can be let in."
LOGIN_URL_ID = "cogworker.W015"
LOGIN_URL_HINT = 'Set LOGIN_URL, or COGWORKER["WEB"]["LOGIN_URL"], to a page where people log in.'
TOKEN_ID = "cogworker.W016"
SHORTEST_TOKEN = 16
TOKEN_HINT = f"Take {SHORTEST_TOKEN} random characters or more."
AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"
PAGES = "cogworker:overview"
"""The name of the first page, where the project includes them."""


def check_deployment(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Return a warning for everything that is not as it should be where real jobs run. It asks Redis."""
    try:
        config = conf.load_config()
    except ConfigurationError:
        # The check of the settings tells.
        return []
    return [*_of_server(config), *_of_access(config.redis), *_of_pages(config)]


def _of_server(config: Config) -> Iterator[CheckMessage]:
    store = Store(config)
    with closing(store):
        try:
            policy, persistent = store.server.eviction_policy(), store.server.is_persistent()
        except CogworkerError as error:
            message = f"Redis at {config.redis.safe} could not be asked: {error}"
            yield Warning(message, hint=UNREACHABLE_HINT, id=UNREACHABLE_ID)
            return
    if policy not in (None, "noeviction"):
        message = f"Redis may throw jobs away when it is full: its maxmemory-policy is {policy}."
        yield Warning(message, hint=EVICTION_HINT, id=EVICTION_ID)
    if persistent is False:
        message = "Redis writes no append-only file: what it has confirmed is lost with it."
        yield Warning(message, hint=PERSISTENCE_HINT, id=PERSISTENCE_ID)


def _of_access(target: RedisTarget) -> Iterator[CheckMessage]:
    if not _has_password(target) and not all(map(_is_near, _hosts(target))):
        message = f"Redis at {target.safe} is asked without a password."
        yield Warning(message, hint=PASSWORD_HINT, id=PASSWORD_ID)


def _of_pages(config: Config) -> Iterator[CheckMessage]:
    if not _shows_pages():
        return
    token = config.web.metrics_token
    if token is not None and len(token) < SHORTEST_TOKEN:
        message = 'COGWORKER["WEB"]["METRICS_TOKEN"] can be guessed, and whoever does reads the metrics.'
        yield Warning(message, hint=TOKEN_HINT, id=TOKEN_ID)
    if not any(map(_authenticates, settings.MIDDLEWARE)):
        yield Warning("The pages need to know who asks.", hint=LOGIN_HINT, id=LOGIN_ID)
    address = resolve_url(config.web.login_url or settings.LOGIN_URL)
    try:
        # Another site's is not ours to look for.
        if address.startswith("/") and not address.startswith("//"):
            resolve(urlsplit(address).path)
    except Resolver404:
        yield Warning(f"The log-in page {address} does not exist.", hint=LOGIN_URL_HINT, id=LOGIN_URL_ID)


def _shows_pages() -> bool:
    if not getattr(settings, "ROOT_URLCONF", None):
        return False
    try:
        reverse(PAGES)
    except NoReverseMatch:
        return False
    return True


def _authenticates(path: str) -> bool:
    try:
        middleware = import_string(path)
    except ImportError:
        return False
    # By its name: importing it needs an app that a project without pages need not have.
    bases = middleware.__mro__ if isinstance(middleware, type) else ()
    return any(f"{base.__module__}.{base.__qualname__}" == AUTHENTICATION for base in bases)


def _hosts(target: RedisTarget) -> list[str]:
    """Where the server is; nothing for a socket."""
    if target.sentinels:
        return [host for host, _ in target.sentinels]
    if target.url is None:
        return [target.host]
    parts = urlsplit(target.url)
    return [] if parts.scheme == "unix" else [parts.hostname or "localhost"]


def _has_password(target: RedisTarget) -> bool:
    parts = urlsplit(target.url or "")
    named = target.password or parts.password or parse_qs(parts.query).get("password")
    return bool(named or target.options.get("password") or target.options.get("credential_provider"))


def _is_near(host: str) -> bool:
    """Whether it is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
