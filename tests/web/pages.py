"""The pages as a browser without JavaScript uses them."""

from __future__ import annotations

import html
import json
import re
import time
from typing import Any

import redis
from django.test import Client

from tests.stores import raw_job

MOUNT = "/ops/jobs/"
TAG = re.compile(r"<[^>]*>")
SPACE = re.compile(r"\s+")


class Pages:
    """One reader's browser.

    Args:
        browser: Django's.
        redis_client: to put things into Redis.
        url: its address.
    """

    def __init__(self, browser: Client, redis_client: redis.Redis, url: str) -> None:
        self.url = url
        self.browser = browser
        self.redis = redis_client

    def get(self, path: str = "", status: int = 200, **headers: Any) -> str:
        """Fetch a page below the mount; return its HTML."""
        answer = self.browser.get(_full(path), **headers)
        assert answer.status_code == status, (path, answer.status_code, answer.content[:500])
        return str(answer.content.decode())

    def text(self, path: str = "", status: int = 200) -> str:
        """Fetch a page; return what is read on it."""
        return read(self.get(path, status))

    def post(self, path: str, status: int = 303, **fields: Any) -> str:
        """Submit a form; return what is read on the page that answers, or on the one that it leads to."""
        answer = self.browser.post(_full(path), {key: value for key, value in fields.items() if value is not None})
        assert answer.status_code == status, (path, answer.status_code, answer.content[:800])
        if status == 303:
            answer = self.browser.get(answer["Location"])
        return read(answer.content.decode())

    def push(self, number: int = 0, queue: str = "default", klass: str = "demo.Job", **fields: Any) -> bytes:
        """Put a job on a queue."""
        fields["class"] = klass
        raw = raw_job(f"{number:024}", queue, **fields)
        self.redis.lpush(f"t:queue:{queue}", raw)
        self.redis.sadd("t:queues", queue)
        return raw

    def add(self, name: str, number: int = 0, score: float = 2e9, klass: str = "demo.Job", **fields: Any) -> bytes:
        """Put a job into `schedule`, `retry` or `dead`."""
        fields["class"] = klass
        raw = raw_job(f"{number:024}", **fields)
        self.redis.zadd(f"t:{name}", {raw: score})
        return raw

    def beat(
        self, identity: str = "web1:77:abc", *, ago: float = 1.0, work: list[Any] | None = None, **info: Any
    ) -> None:
        """Let a process be there, and run something."""
        seconds, micro = self.redis.time()
        shown = {
            "hostname": identity.partition(":")[0],
            "pid": 77,
            "concurrency": 10,
            "queues": [["default", 1]],
            "started_at": time.time() - 60,
            "busy": 0,
            "quiet": False,
            "rss_kb": 45_056,
            "version": "0.1.0",
            "fetch": "reliable",
        }
        self.redis.hset("t:beats", identity, f"{seconds + micro / 1e6 - ago} 0 10")
        self.redis.set(f"t:process:{identity}", json.dumps(shown | info), px=60_000)
        if work is not None:
            self.redis.set(f"t:work:{identity}", json.dumps(work), px=60_000)


def read(page: str) -> str:
    """Return the text of a page in one line."""
    body = page.partition("<body")[2].replace("<wbr>", "")
    return SPACE.sub(" ", html.unescape(TAG.sub(" ", body))).strip()


def keys_in(page: str, name: str = "key") -> list[str]:
    """Return the values of the boxes or buttons with a name."""
    return [html.unescape(value) for value in re.findall(rf'name="{name}" value="([^"]*)"', page)]


def _full(path: str) -> str:
    return path if path.startswith("/") else MOUNT + path
