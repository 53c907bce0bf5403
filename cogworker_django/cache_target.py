"""Finds the server behind a cache, for `COGWORKER["REDIS"] = {"CACHE": alias}` (Contract 3).

Only the address is taken over, with what is needed to be let in. How the cache pools, repeats and times out
is made for a cache, and stays there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from cogworker_django.core.redis_target import CLIENT_OPTIONS, OURS, RedisTarget, checked_url, read_target
from cogworker_django.core.settings import fault, unknown_keys

# In the URL of a cache behind Sentinel: whether to use the primary. Jobs always do.
NOT_FOR_US = (*OURS, "is_master")


def cache_target(caches: Mapping[str, Mapping[str, Any]], alias: str, place: str) -> RedisTarget:
    """Return where a django-redis cache is.

    Args:
        caches: Django's `CACHES`.
        alias: which of them.
        place: where the alias stands, for the messages.

    Raises:
        ConfigurationError: no such cache, or it is not in Redis.
    """
    if alias not in caches:
        (problem,) = unknown_keys([alias], caches, "CACHES")
        raise fault(place, problem.replace("unknown key", "no such cache"))
    cache = caches[alias]
    url = _first_location(cache, alias, place)
    options = cache.get("OPTIONS") or {}
    own = {str(key).lower(): value for key, value in options.items()}
    client = _client_options(options.get("CONNECTION_POOL_KWARGS") or {}) | _client_options(own)
    parts = urlsplit(url)
    if parts.password is not None:
        client.pop("password", None)
    if options.get("SENTINELS"):
        return _behind_sentinels(options, url, client, place)
    return RedisTarget(url=url, options=client)


def _first_location(cache: Mapping[str, Any], alias: str, place: str) -> str:
    """The primary stands first, where there are several."""
    location = cache.get("LOCATION") or ""
    if isinstance(location, str):
        location = location.split(",")
    first = str(next(iter(location), ""))
    try:
        parts = urlsplit(first)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise fault(place, f'the cache "{alias}" is not in Redis: its LOCATION is no redis:// URL.')
    query = urlencode([(key, value) for key, value in parse_qsl(parts.query) if key not in NOT_FOR_US])
    url = first.partition("?")[0] + (f"?{query}" if query else "")
    return checked_url(url, f'CACHES["{alias}"]["LOCATION"]')


def _client_options(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key in CLIENT_OPTIONS and value not in (None, "")}


def _behind_sentinels(options: Mapping[str, Any], url: str, client: Mapping[str, Any], place: str) -> RedisTarget:
    parts = urlsplit(url)
    address = {
        **client,
        "SENTINELS": options["SENTINELS"],
        "SERVICE": parts.hostname or "",
        "DB": int(parts.path.strip("/") or 0),
        "SSL": parts.scheme == "rediss",
    }
    password = parts.password or client.get("password")
    if parts.username:
        address["username"] = parts.username
    address.pop("password", None)
    return read_target(address | ({"PASSWORD": password} if password else {}), place)
