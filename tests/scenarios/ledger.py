"""What has run, written outside Redis: the one witness that no fault of the product can bend.

Each process appends to a file of its own; a line is one `write` with O_APPEND, so that a killed process leaves whole
lines, and all that it had begun.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cogworker_django import current_job

VARIABLE = "SCENARIO_LEDGER"
"""Names the directory in the environment of a worker."""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a job, as its process has seen it."""

    jid: str
    attempt: int
    """How often it had failed before: a run of the same attempt is an extra one, a retry is not."""
    pid: int
    thread: str
    started: float
    """On the monotonic clock, which all processes of the machine share."""
    ended: float | None
    """None when its process died during it, or it still runs."""
    failed: bool


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Around what a job does: its start and its end are written down."""
    job = current_job()
    if job is None:
        yield
        return
    words = f"{job.jid} {job.payload.get('retry_count', 0)}"
    _append(f"start {words}")
    try:
        yield
    except BaseException:
        _append(f"fail {words}")
        raise
    _append(f"end {words}")


def _append(words: str) -> None:
    line = f"{words} {os.getpid()} {threading.current_thread().name} {time.monotonic():.6f}\n"
    os.write(_file(os.getpid()), line.encode())


@cache
def _file(pid: int) -> int:
    return os.open(Path(os.environ[VARIABLE]) / str(pid), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


class Ledger:
    """All processes' lines together.

    Args:
        directory: where the files are.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)

    def runs(self) -> list[Run]:
        """Every run, in the order of their starts."""
        found: list[Run] = []
        for path in self.directory.iterdir():
            found += _read(path.read_text(encoding="ascii"))
        return sorted(found, key=lambda run: run.started)

    def starts(self, jid: str) -> int:
        """How often a job has begun to run; cheap enough to be asked often."""
        return sum(path.read_bytes().count(f"start {jid} ".encode()) for path in self.directory.iterdir())

    def under_way(self, first: float, last: float) -> set[str]:
        """The jobs of which a run was in progress at some time between two moments."""
        runs = [run for run in self.runs() if run.started < last]
        return {run.jid for run in runs if run.ended is None or run.ended > first}

    def ends(self) -> int:
        """How many runs have come to their end; cheap enough to be asked often."""
        return sum(path.read_bytes().count(b"end ") for path in self.directory.iterdir())


def _read(text: str) -> Iterator[Run]:
    open_runs: dict[tuple[str, str], tuple[str, str, str, str, float]] = {}
    for line in text.splitlines():
        kind, jid, attempt, pid, thread, stamp = line.split()
        if kind == "start":
            open_runs[jid, thread] = (jid, attempt, pid, thread, float(stamp))
        else:
            jid, attempt, pid, thread, started = open_runs.pop((jid, thread))
            yield Run(jid, int(attempt), int(pid), thread, started, float(stamp), kind == "fail")
    for jid, attempt, pid, thread, started in open_runs.values():
        yield Run(jid, int(attempt), int(pid), thread, started, None, False)
