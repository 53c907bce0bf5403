"""A pytest plugin that collects the tests once and then forks a child for each faulty script.

A child runs only tests that run the script and ends at the first that fails. First come those that have found faults
of it before, then those of the store, the quick ones first. All children use one server, started before.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis

from cogworker_django.embedded import EmbeddedServer
from cogworker_django.store.gateway import Gateway
from cogworker_django.store.scripts import load

# Tests of other folders than the store's: a script that every worker runs is run by hundreds, hardly for its own sake.
MOST = 100
# Seconds for one fault: more than so many tests take.
PATIENCE = 120.0
# Tests that may fail without a fault, on a machine that has much else to do.
MOST_FAILING = 10
BROKEN = 100
NOTE = Path("note.json")


@dataclass
class Record:
    """What a run of all tests has shown of each."""

    scripts: dict[str, set[str]] = field(default_factory=dict)
    """By a test's node id, the scripts that it runs."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By a test's node id, how long it takes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plan", help="the file with the faulty scripts")
    parser.addoption("--verdicts", type=int, help="the file descriptor to tell the verdicts")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    server = _shared_server(session)
    try:
        _try_all(session, server)
    finally:
        server.kill()
    return True


def _try_all(session: pytest.Session, server: EmbeddedServer) -> None:
    gc.collect()
    gc.freeze()  # the children share what is there
    record = _recorded(session)
    tasks = json.loads(Path(session.config.getoption("plan")).read_text(encoding="utf-8"))
    _control(session, record, tasks[0])
    killers: dict[str, list[str]] = {}
    with os.fdopen(session.config.getoption("verdicts"), "w", encoding="ascii", closefd=False) as verdicts:
        for task in tasks:
            known = killers.setdefault(task["path"], [])
            killer = _tried(session, task, _chosen(session, record, task["scripts"], known))
            _look_after(server)
            if killer in known:
                known.remove(killer)
            if killer:
                known.insert(0, killer)
            print("killed" if killer is not None else "alive", file=verdicts, flush=True)


def _shared_server(session: pytest.Session) -> EmbeddedServer:
    """Run a test that needs the server, as if others followed: it stays up for the children."""
    started: list[EmbeddedServer] = []
    start = EmbeddedServer.start

    def noted(server: EmbeddedServer, *extra: str) -> EmbeddedServer:
        started.append(server)
        return start(server, *extra)

    EmbeddedServer.start = noted  # type: ignore[method-assign, assignment]
    item = next(item for item in session.items if "redis_server" in getattr(item, "fixturenames", ()))
    session.config.hook.pytest_runtest_protocol(item=item, nextitem=_elsewhere(session, item))
    EmbeddedServer.start = start  # type: ignore[method-assign]
    return started[0]


def _look_after(server: EmbeddedServer) -> None:
    """Replace the server when a faulty script runs in it for ever."""
    client = redis.Redis.from_url(server.url, socket_timeout=2)
    try:
        client.ping()
    except redis.RedisError:
        server.kill()
        server.start()
    finally:
        client.close()


def _recorded(session: pytest.Session) -> Record:
    """Run all tests once, without a fault, in a child. Those that fail then say nothing and are left out."""

    def all_tests() -> None:
        record = Record()
        run = Gateway.run

        def recording(gateway: Gateway, name: str, *args: Any) -> Any:
            record.scripts.setdefault(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0], set()).add(name)
            return run(gateway, name, *args)

        Gateway.run = recording  # type: ignore[method-assign, assignment]
        for item, following in zip(session.items, _followers(session, session.items), strict=True):
            started, failed = time.monotonic(), session.testsfailed
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed > failed:
                record.scripts.pop(item.nodeid, None)
            record.seconds[item.nodeid] = time.monotonic() - started
        found = {test: sorted(names) for test, names in record.scripts.items()}
        NOTE.write_text(json.dumps([found, record.seconds]), encoding="utf-8")

    failed = _in_a_child(session, all_tests, 1800)
    if not 0 <= failed <= MOST_FAILING:
        raise pytest.UsageError(f"{failed} tests fail without a fault")
    scripts, seconds = json.loads(NOTE.read_text(encoding="utf-8"))
    return Record({test: set(names) for test, names in scripts.items()}, seconds)


def _control(session: pytest.Session, record: Record, task: dict[str, Any]) -> None:
    """See that a script without a fault is not taken for a faulty one."""
    sound = {**task, "text": Path(task["path"]).read_text(encoding="utf-8")}
    killer = _tried(session, sound, _chosen(session, record, task["scripts"], []))
    if killer is not None:
        raise pytest.UsageError(f"{killer} fails without a fault")


def _chosen(session: pytest.Session, record: Record, scripts: list[str], known: list[str]) -> list[pytest.Item]:
    fitting = [item for item in session.items if record.scripts.get(item.nodeid, set()).intersection(scripts)]
    rank = {nodeid: number for number, nodeid in enumerate(known)}

    def order(item: pytest.Item) -> tuple[int, bool, float]:
        far = not item.nodeid.startswith("tests/store/")
        return rank.get(item.nodeid, len(rank)), far, record.seconds[item.nodeid]

    near = sum(item.nodeid.startswith("tests/store/") for item in fitting)
    return sorted(fitting, key=order)[: near + MOST]


def _tried(session: pytest.Session, task: dict[str, str], items: list[pytest.Item]) -> str | None:
    """Run tests on a faulty script.

    Returns:
        The test that failed; empty when they did not end; None when all passed.
    """

    def some_tests() -> None:
        load.cache_clear()
        for item, following in zip(items, _followers(session, items), strict=True):
            NOTE.write_text(item.nodeid, encoding="utf-8")
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return

    script = Path(task["path"])
    sound = script.read_bytes()
    script.write_text(task["text"], encoding="utf-8")
    try:
        code = _in_a_child(session, some_tests, PATIENCE)
    finally:
        script.write_bytes(sound)
    if code == 0:
        return None
    return NOTE.read_text(encoding="utf-8") if code == 1 else ""


def _followers(session: pytest.Session, items: list[pytest.Item]) -> list[pytest.Item]:
    """For each test the next one; for the last one another, so that nobody stops the shared server."""
    return [*items[1:], _elsewhere(session, items[-1])] if items else []


def _elsewhere(session: pytest.Session, item: pytest.Item) -> pytest.Item:
    """A test of another folder: before it pytest takes down all but what belongs to the whole session."""
    return next(other for other in session.items if other.path.parent != item.path.parent)


def _in_a_child(session: pytest.Session, tests: Any, patience: float) -> int:
    """Run tests in a child; return how many fail, or a high number when they do not end."""
    child = os.fork()
    if not child:
        code = BROKEN
        try:
            os.setsid()
            tests()
            code = min(session.testsfailed, BROKEN)
        finally:
            os._exit(code)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return BROKEN
