"""What a fork must not share, and who must not work at all (B078, B080, T22)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from cogworker_django.embedded import free_port
from tests.scenarios.waiting import eventually
from tests.support import manage, project

pytestmark = pytest.mark.slow

APPS = """
import redis
from django.apps import AppConfig
from django.conf import settings
from django.db import connection

CLIENTS = []

class Shop(AppConfig):
    name = "shop"

    def ready(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        CLIENTS.append(redis.Redis.from_url(settings.COGWORKER["REDIS"]))
        CLIENTS[0].ping()
        from cogworker_django import Stats
        Stats().processed
"""
JOBS = """
import os
from cogworker_django import job, periodic
from django.db import connection
from shop.apps import CLIENTS

@job(name="query")
def query():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 41 + 1")
        CLIENTS[0].hincrby("seen", f"{os.getpid()} {cursor.fetchone()[0]}")

@job(name="tick")
def tick():
    CLIENTS[0].incr("ticks")

periodic("* * * * *", tick, name="every minute")
"""


@pytest.fixture
def shop(tmp_path: Path, redis_url: str) -> dict[str, Any]:
    """A project whose app opens connections when it is loaded."""
    made = project(tmp_path, {"REDIS": redis_url, "SHUTDOWN_TIMEOUT": 3}, JOBS)
    (tmp_path / "shop" / "apps.py").write_text(APPS, encoding="utf-8")
    settings = tmp_path / "project_settings.py"
    text = settings.read_text(encoding="utf-8").replace("'shop'", "'shop.apps.Shop'")
    settings.write_text(f"{text}ROOT_URLCONF = 'project_urls'\nDEBUG = True\nALLOWED_HOSTS = ['*']\n", encoding="utf-8")
    (tmp_path / "project_urls.py").write_text("urlpatterns = []\n", encoding="utf-8")
    return made


def sockets(pid: int) -> list[str]:
    found = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(fd))
        except FileNotFoundError:
            continue
    return [link for link in found if link.startswith("socket:")]


def push(client: redis.Redis, number: int) -> None:
    for _ in range(number):
        client.lpush(
            "cogworker:queue:default", f'{{"class":"query","args":[],"queue":"default","jid":"{os.urandom(12).hex()}"}}'
        )


def seen(client: redis.Redis) -> Counter[str]:
    return Counter({key.decode(): int(value) for key, value in client.hgetall("seen").items()})  # type: ignore[union-attr]  # sync


def test_no_two_processes_of_a_swarm_hold_one_socket(shop: dict[str, Any], redis_client: redis.Redis) -> None:
    """B080."""
    log = shop["cwd"] / "log"
    parent = manage("cogworker", "--processes", "4", "-c", "2", "-L", str(log), PYTHONWARNINGS="ignore", **shop)
    try:
        eventually(lambda: redis_client.hlen("cogworker:beats") == 4, 20, "four processes")
        push(redis_client, 400)
        eventually(lambda: seen(redis_client).total() == 400, 20, "all jobs", lambda: seen(redis_client))
        pids = [parent.pid, *(child.pid for child in psutil.Process(parent.pid).children())]
        held = Counter(link for pid in pids for link in set(sockets(pid)))
        assert len(pids) == 5
        assert [link for link, holders in held.items() if holders > 1] == []
        assert {key.split()[1] for key in seen(redis_client)} == {"42"}
    finally:
        parent.send_signal(signal.SIGTERM)
        told = parent.communicate(timeout=20)
    assert (parent.returncode, told) == (0, (b"", b""))
    assert "Error" not in log.read_text(encoding="utf-8")


COMMANDS = [
    pytest.param(("check",), id="check"),
    pytest.param(("migrate",), id="migrate"),
    pytest.param(("test", "shop"), id="test"),
    pytest.param(("shell", "-c", "import threading; print([t.name for t in threading.enumerate()])"), id="shell"),
]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_other_command_works_on_jobs(
    shop: dict[str, Any], redis_client: redis.Redis, words: tuple[str, ...]
) -> None:
    """B078."""
    push(redis_client, 3)
    process = manage(*words, **shop)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert b"cogworker-" not in out, "no thread of ours"
    assert redis_client.llen("cogworker:queue:default") == 3
    assert not redis_client.exists("cogworker:beats", "seen", "ticks")


def test_a_development_server_with_its_reloader_works_on_no_jobs(
    shop: dict[str, Any], redis_client: redis.Redis, tmp_path: Path
) -> None:
    """B078."""
    push(redis_client, 3)
    port = free_port()
    outer = subprocess.Popen(
        [sys.executable, "-m", "django", "runserver", f"127.0.0.1:{port}"],
        cwd=tmp_path,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "project_settings", "PYTHONPATH": f"{tmp_path}:{os.getcwd()}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        eventually(lambda: any(c.net_connections() for c in psutil.Process(outer.pid).children()), 20, "the server")
        [inner] = psutil.Process(outer.pid).children()
        # Its own, the reloader's and those that answer: none of ours, which would be seven at least.
        assert inner.num_threads() < 5
        assert redis_client.llen("cogworker:queue:default") == 3
        assert not redis_client.exists("cogworker:beats", "seen", "ticks")
    finally:
        os.killpg(outer.pid, signal.SIGKILL)
        outer.wait()
