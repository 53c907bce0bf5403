from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from django.db import connection
from django.db import connections as databases
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test import override_settings

from cogworker_django import connections
from cogworker_django.connections import after_job, before_job
from tests.support import finished, manage


@pytest.fixture(autouse=True)
def database_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One in memory is never closed by Django."""
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "db.sqlite3"))


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    """As in a worker, and in no other process."""
    connections.watch()
    yield
    connection_created.disconnect(dispatch_uid="cogworker.connections")


def on_its_own_thread(step: Callable[[], object]) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(step()))
    thread.start()
    thread.join()
    assert found, "the step raised"
    return found[0]


def query() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_a_connection_that_a_job_opened_is_closed_after_it() -> None:
    def job() -> bool:
        before_job()
        query()
        was_open = connection.connection is not None
        after_job()
        return was_open and connection.connection is None

    assert on_its_own_thread(job)


def test_a_connection_with_an_age_is_kept_until_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    def job() -> list[bool]:
        monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 100)
        before_job()
        query()
        after_job()
        kept = connection.connection is not None
        connection.close_at = time.monotonic() - 1
        before_job()
        dropped = connection.connection is None
        return [kept, dropped]

    assert on_its_own_thread(job) == [True, True]


def test_a_broken_connection_is_dropped_before_the_next_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def job() -> bool:
        monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
        before_job()
        query()
        after_job()
        connection.errors_occurred = True
        monkeypatch.setattr(DatabaseWrapper, "is_usable", lambda self: False)
        before_job()
        return connection.connection is None

    assert on_its_own_thread(job)


def test_a_connection_that_the_server_has_closed_meanwhile_is_replaced_before_the_jobs_first_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Case B102: a persistent one, although the project has switched Django's health checks off."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", False)

    def job() -> list[bool]:
        before_job()
        query()
        after_job()
        first = connection.connection
        before_job()
        query()
        sound = connection.connection
        after_job()
        monkeypatch.setattr(DatabaseWrapper, "is_usable", lambda self: False)
        before_job()
        query()
        return [first is sound, connection.connection is not sound]

    assert on_its_own_thread(job) == [True, True]


def test_the_queries_of_one_job_are_not_counted_with_the_next() -> None:
    def job() -> int:
        with override_settings(DEBUG=True):
            before_job()
            query()
            after_job()
            before_job()
            return len(connection.queries)

    assert on_its_own_thread(job) == 0


def test_what_fails_around_a_job_is_not_the_jobs_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(connections, "close_old_connections", fail)

    def job() -> bool:
        query()
        after_job()
        return True

    assert on_its_own_thread(job)
    assert "database connections could not be refreshed" in caplog.text


def test_the_connection_of_a_thread_that_ends_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)

    def job() -> list[BaseDatabaseWrapper]:
        before_job()
        query()
        after_job()
        query()
        return [databases["default"]]

    (opened,) = cast("list[BaseDatabaseWrapper]", on_its_own_thread(job))
    assert opened.connection is None


def test_a_process_that_is_no_worker_keeps_its_hands_off() -> None:
    watching = [key for key, *_ in connection_created.receivers if "cogworker" in str(key)]
    code = "from django.db.backends.signals import connection_created as c; print(len(c.receivers))"
    _, out, _ = finished(manage("shell", "--no-imports", "-c", code))
    assert (len(watching), out.strip()) == (1, "0")


def test_a_thread_without_a_connection_pays_next_to_nothing() -> None:
    def measure() -> float:
        rounds = 20_000
        best = min(timed(rounds) for _ in range(5))
        return best / rounds

    def timed(rounds: int) -> float:
        began = time.perf_counter()
        for _ in range(rounds):
            before_job()
            after_job()
        return time.perf_counter() - began

    seconds = on_its_own_thread(measure)
    assert isinstance(seconds, float)
    assert seconds < 2e-6
