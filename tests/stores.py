"""A store on the tests' server, and jobs as they lie in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
import redis

from cogworker_django.core.config import Config
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.store.store import Store

# Values that a careless re-encoding changes (case B060).
TOUCHY_ARGS = [130775545883395173, 9007199254740993, 1.0, 0.1, [], {}, {"1": "a"}, None, "\0"]


def open_store(url: str, **settings: Any) -> Store:
    """A store of the server at `url`, under the prefix `t:`; without status and history unless they are asked for."""
    plain: dict[str, Any] = {"status": None, "history": None}
    return Store(Config(redis=RedisTarget(url=url), prefix="t:", **(plain | settings)))


@pytest.fixture
def store(redis_url: str) -> Iterator[Store]:
    """A store on an empty server."""
    opened = open_store(redis_url)
    yield opened
    opened.client.close()


def raw_job(jid: str = "0" * 24, queue: str = "default", **fields: Any) -> bytes:
    """A job as it is stored."""
    job = {
        "class": "demo.Job",
        "args": [],
        "jid": jid,
        "queue": queue,
        "created_at": 1_700_000_000.5,
        **fields,
    }
    return json.dumps(job, separators=(",", ":"), ensure_ascii=False).encode()


def queued(client: redis.Redis, name: str = "default") -> list[bytes]:
    """What is on a queue, newest first."""
    return cast(list[bytes], client.lrange(f"t:queue:{name}", 0, -1))


def scored(client: redis.Redis, name: str) -> list[tuple[bytes, float]]:
    """What is in a set, with the scores, lowest first."""
    return cast(list[tuple[bytes, float]], client.zrange(f"t:{name}", 0, -1, withscores=True))


def members(client: redis.Redis, name: str) -> list[bytes]:
    """What is in a set, lowest score first."""
    return [member for member, _ in scored(client, name)]


def jids(raws: list[bytes]) -> list[str]:
    """The ids of raw jobs."""
    return [json.loads(raw)["jid"] for raw in raws]
