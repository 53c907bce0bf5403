"""Database connections of a worker, on PostgreSQL (B102, B103)."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
import redis

from tests.postgres import Postgres, programs
from tests.scenarios.waiting import eventually
from tests.support import manage, project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="no PostgreSQL server on this machine"),
]

THREADS = 5
JOBS = """
import time
from asgiref.sync import sync_to_async
from cogworker_django import job
from django.db import connection, transaction

@job(name="query")
def query(seconds=0.0):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [seconds])

@job(name="leave_open")
def leave_open():
    transaction.atomic().__enter__()
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO notes VALUES ('left open')")

@job(name="leave_manual")
def leave_manual():
    transaction.set_autocommit(False)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO notes VALUES ('left open')")

@job(name="note")
def note(text):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO notes VALUES (%s)", [text])

@job(name="anote")
async def anote(text):
    await sync_to_async(note)(text)
"""
Start = Callable[..., "Shop"]


class Shop:
    """A project on PostgreSQL, with a worker."""

    def __init__(self, folder: Path, postgres: Postgres, client: redis.Redis, url: str, **database: Any) -> None:
        folder.mkdir()
        databases = {"default": postgres.settings | database}
        more = f"DATABASES = {databases!r}"
        where = project(folder, {"REDIS": url, "CONCURRENCY": THREADS, "SHUTDOWN_TIMEOUT": 5}, JOBS, more)
        self._client = client
        self._postgres = postgres
        self.log = folder / "log"
        self.process = manage("cogworker", "-L", str(self.log), **where)
        eventually(lambda: self.log.exists() and " started: " in self.text, 20, "the worker")

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def push(self, name: str, *args: object, number: int = 1) -> None:
        for _ in range(number):
            item = {"class": name, "args": args, "jid": os.urandom(12).hex(), "queue": "default"}
            self._client.lpush("cogworker:queue:default", json.dumps(item))

    def done(self, number: int) -> None:
        """Wait until so many jobs have succeeded."""
        eventually(lambda: self.count("processed") == number, 20, f"{number} jobs", lambda: self.text[-3000:])

    def count(self, kind: str) -> int:
        return int(cast("bytes | None", self._client.get(f"cogworker:stats:{kind}")) or 0)

    def connections(self) -> int:
        """How many the server has from this worker."""
        sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'shop' AND application_name <> 'tests'"
        return int(self.ask(sql)[0][0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._postgres.address, autocommit=True) as wire:
            cursor = wire.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=20)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    # Not below pytest's own folder, which nobody but the tests' account may enter.
    with tempfile.TemporaryDirectory(prefix="cogworker-postgres-") as name:
        Path(name).chmod(0o755)
        made = Postgres(Path(name) / "server")
        with psycopg.connect(made.address, autocommit=True) as wire:
            wire.execute("CREATE TABLE notes (text text)")
        yield made
        made.stop()


@pytest.fixture
def shop(tmp_path: Path, postgres: Postgres, redis_url: str, redis_client: redis.Redis) -> Iterator[Start]:
    started: list[Shop] = []

    def start(**database: Any) -> Shop:
        started.append(Shop(tmp_path / str(len(started)), postgres, redis_client, redis_url, **database))
        return started[-1]

    with psycopg.connect(postgres.address, autocommit=True) as wire:
        wire.execute("DELETE FROM notes")
    yield start
    for each in started:
        each.stop()


AGES = [
    pytest.param({"CONN_MAX_AGE": None}, id="kept"),
    pytest.param({"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}, id="checked"),
    pytest.param({"CONN_MAX_AGE": 0}, id="closed"),
    pytest.param({"OPTIONS": {"pool": {"min_size": 1, "max_size": THREADS}}}, id="pool"),
]


@pytest.mark.parametrize("database", AGES)
def test_connections_that_the_server_has_closed_fail_no_job(shop: Start, database: dict[str, Any]) -> None:
    """B102."""
    worker = shop(**database)
    worker.push("query", 0.1, number=THREADS)
    worker.done(THREADS)
    others = "pid <> pg_backend_pid() AND datname = 'shop'"
    worker.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    worker.push("query", 0.05, number=2 * THREADS)
    worker.done(3 * THREADS)
    assert worker.count("failed") == 0, worker.text


def test_a_server_that_was_restarted_fails_no_later_job(shop: Start, postgres: Postgres) -> None:
    worker = shop(CONN_MAX_AGE=None)
    worker.push("query", 0.1, number=THREADS)
    worker.done(THREADS)
    postgres.stop()
    postgres.start()
    worker.push("query", number=2 * THREADS)
    worker.done(3 * THREADS)
    assert worker.count("failed") == 0, worker.text


@pytest.mark.parametrize("database", AGES)
def test_a_process_holds_as_many_as_threads_and_none_after_its_end(shop: Start, database: dict[str, Any]) -> None:
    """B103."""
    most = 0
    worker = shop(**database)
    worker.push("query", 0.005, number=300)
    while worker.count("processed") < 300:
        most = max(most, worker.connections())
        assert worker.count("failed") == 0, worker.text
    assert 0 < most <= THREADS
    worker.stop()
    eventually(lambda: worker.connections() == 0, 10, "all to be closed")


def test_asynchronous_jobs_use_the_connection_of_their_thread(shop: Start) -> None:
    worker = shop(CONN_MAX_AGE=None)
    worker.push("anote", "hello", number=50)
    worker.done(50)
    assert worker.ask("SELECT count(*) FROM notes") == [(50,)]
    assert worker.connections() <= THREADS


@pytest.mark.parametrize("name", ["leave_open", "leave_manual"])
def test_a_transaction_that_a_job_has_left_open_is_rolled_back_and_told_of(shop: Start, name: str) -> None:
    worker = shop(CONN_MAX_AGE=None)
    worker.push(name, number=2 * THREADS)
    worker.done(2 * THREADS)
    worker.push("note", "kept", number=2 * THREADS)
    worker.done(4 * THREADS)
    assert worker.ask("SELECT text, count(*) FROM notes GROUP BY text") == [("kept", 2 * THREADS)]
    assert worker.text.count("a job has left a transaction open on the database default") == 2 * THREADS
    time.sleep(0.05)
    idle = worker.ask("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
    assert idle == [(0,)]
