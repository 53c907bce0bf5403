"""A pytest plugin that collects the tests once and then forks a child for each faulty script.

A child runs only tests that run the script and ends at the first that fails. First come those that have found faults
of it before, then those of the store, the quick ones first.
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

from cogworker_django.store.gateway import Gateway
from cogworker_django.store.scripts import load

# Tests for one fault: a script that every worker runs is run by hundreds, and hardly for its own sake.
MOST = 120
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
    gc.collect()
    gc.freeze()  # the children share what is there
    record = _recorded(session)
    killers: dict[str, list[str]] = {}
    with os.fdopen(session.config.getoption("verdicts"), "w", encoding="ascii", closefd=False) as verdicts:
        for task in json.loads(Path(session.config.getoption("plan")).read_text(encoding="utf-8")):
            known = killers.setdefault(task["path"], [])
            killer = _tried(session, task, _chosen(session, record, task["scripts"], known))
            if killer in known:
                known.remove(killer)
            if killer:
                known.insert(0, killer)
            print("killed" if killer is not None else "alive", file=verdicts, flush=True)
    return True


def _recorded(session: pytest.Session) -> Record:
    """Run all tests once, without a fault, in a child. Those that fail then say nothing and are left out."""

    def all_tests() -> None:
        record = Record()
        run = Gateway.run

        def recording(gateway: Gateway, name: str, *args: Any) -> Any:
            record.scripts.setdefault(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0], set()).add(name)
            return run(gateway, name, *args)

        Gateway.run = recording  # type: ignore[method-assign, assignment]
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
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


def _chosen(session: pytest.Session, record: Record, scripts: list[str], known: list[str]) -> list[pytest.Item]:
    fitting = [item for item in session.items if record.scripts.get(item.nodeid, set()).intersection(scripts)]
    rank = {nodeid: number for number, nodeid in enumerate(known)}

    def order(item: pytest.Item) -> tuple[int, bool, float]:
        far = not item.nodeid.startswith("tests/store/")
        return rank.get(item.nodeid, len(rank)), far, record.seconds[item.nodeid]

    return sorted(fitting, key=order)[:MOST]


def _tried(session: pytest.Session, task: dict[str, str], items: list[pytest.Item]) -> str | None:
    """Run tests on a faulty script.

    Returns:
        The test that failed; empty when they did not end; None when all passed.
    """

    def some_tests() -> None:
        load.cache_clear()
        for item, following in zip(items, [*items[1:], None], strict=True):
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


def _in_a_child(session: pytest.Session, tests: Any, patience: float) -> int:
    """Run tests in a child; return how many fail, or a high number when they do not end."""
    child = os.fork()
    if not child:
        code = BROKEN
        try:
            os.setsid()
            tests()
            code = min(session.testsfailed, BROKEN)
            session.config.hook.pytest_sessionfinish(session=session, exitstatus=code)
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
