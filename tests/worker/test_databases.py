"""The database connections of a real worker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import pytest
import redis

from tests.stores import raw_job
from tests.support import manage, project
from tests.worker.rigs import until

pytestmark = pytest.mark.slow

THREADS = 3
JOBS = """
import time
from django.db import connections
from cogworker_django import job

@job(name="ask", retry=0)
def ask():
    for alias in ("default", "second"):
        with connections[alias].cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS t (n integer)")
    time.sleep(0.01)
"""


class Office:
    """A worker whose jobs ask two databases.

    Args:
        folder: of its project.
        client: to the server.
        url: of the server.
        age: `CONN_MAX_AGE` of both databases.
    """

    def __init__(self, folder: Path, client: redis.Redis, url: str, age: int | None) -> None:
        self._client = client
        second = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "second.sqlite3")}
        self.kept = age is None
        more = f"DATABASES['second'] = {second!r}\nfor one in DATABASES.values(): one['CONN_MAX_AGE'] = {age!r}"
        cogworker = {"REDIS": url, "PREFIX": "t:", "CONCURRENCY": THREADS}
        self.process: Popen[bytes] = manage("cogworker", **project(folder, cogworker, JOBS, more))

    def most_while(self, jobs: int) -> int:
        """Has so many jobs done; the largest number of open database files meanwhile."""
        before, most = self._done(), 0
        self._client.lpush("t:queue:default", *(raw_job(f"{before + i:024}", **{"class": "ask"}) for i in range(jobs)))
        deadline = time.monotonic() + 30
        while self._done() < before + jobs:
            assert time.monotonic() < deadline, self._client.zrange("t:dead", 0, 0)
            most = max(most, self.open())
        return most

    def open(self) -> int:
        """How many database files the process has open."""
        return sum(file.path.endswith(".sqlite3") for file in psutil.Process(self.process.pid).open_files())

    def _done(self) -> int:
        found: Any = self._client.get("t:stats:processed")
        return int(found or 0)


@pytest.fixture(params=[0, None], ids=["closed at once", "kept"])
def office(
    request: pytest.FixtureRequest, tmp_path: Path, redis_client: redis.Redis, redis_url: str
) -> Iterator[Office]:
    """One whose connections are closed after each job, and one whose are kept."""
    made = Office(tmp_path, redis_client, redis_url, request.param)
    yield made
    made.process.terminate()
    out, err = made.process.communicate(timeout=20)
    assert (made.process.returncode, b"Traceback" in out + err) == (0, False), out + err


def test_a_worker_has_a_connection_for_each_thread_and_database_at_most_whatever_it_has_done(office: Office) -> None:
    """Case B103: none for threads that run no jobs, no more in the second round than in the first, and between jobs
    none at all where `CONN_MAX_AGE` is 0.
    """
    rounds = [office.most_while(60) for _ in range(2)]
    assert 0 < max(rounds) <= THREADS * 2
    if office.kept:
        assert 2 <= office.open() <= THREADS * 2
    else:
        until(lambda: office.open() == 0)
