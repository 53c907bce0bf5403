"""The outer process of `--reload`: whenever it is told to stop, it stops, and so does the worker."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.scenarios.waiting import eventually
from tests.support import ROOT

OUTER = """
import os, sys, time
os.environ["OUTER"] = str(os.getpid())
from django.utils import autoreload
from cogworker_django import reloading
from cogworker_django.process import logs
logs.install()
moment, hangup, *command = sys.argv[1:]
autoreload.get_child_arguments = lambda: [sys.executable, *command]
if moment == "early":
    # The signal comes while it looks at the files, before there is a worker.
    seen = reloading._times
    def look():
        print("looking", flush=True)
        time.sleep(0.3)
        return seen()
    reloading._times = look
sys.exit(reloading.follow(hangup))
"""
WORKER = """
import signal, sys, time, os
def leave(*_):
    sys.exit({status})
def note(number, _):
    print("hears", number, flush=True)
signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGHUP, note)
print("worker", os.getpid(), flush=True)
time.sleep(30)
"""


class Outer:
    """A running one."""

    def __init__(self, folder: Path, worker: str, moment: str = "late", hangup: str = "stop") -> None:
        self._log = folder / "log"
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", OUTER, moment, hangup, "-c", worker],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self, words: str) -> None:
        eventually(lambda: words in self.text, 20, words, lambda: self.text)

    @property
    def text(self) -> str:
        return self._log.read_text(encoding="utf-8")


@pytest.fixture
def started() -> Iterator[list[Outer]]:
    """What the test has started, to be ended."""
    found: list[Outer] = []
    yield found
    for outer in found:
        for inner in psutil.Process(outer.process.pid).children() if outer.process.poll() is None else []:
            inner.kill()
        outer.process.kill()
        outer.process.wait()


def test_a_stop_before_there_is_a_worker_is_not_forgotten(tmp_path: Path, started: list[Outer]) -> None:
    started.append(outer := Outer(tmp_path, WORKER.format(status=0), "early"))
    outer.said("looking")
    outer.process.send_signal(signal.SIGTERM)
    assert outer.process.wait(10) == 0, outer.text


def test_a_stop_while_it_stops_for_new_code_is_a_clean_end(tmp_path: Path, started: list[Outer]) -> None:
    started.append(outer := Outer(tmp_path, WORKER.format(status=3)))
    outer.said("worker")
    outer.process.send_signal(signal.SIGTERM)
    assert outer.process.wait(10) == 0, outer.text


def test_what_a_worker_ends_with_when_it_is_told_to_stop_is_passed_on(tmp_path: Path, started: list[Outer]) -> None:
    started.append(outer := Outer(tmp_path, WORKER.format(status=7)))
    outer.said("worker")
    outer.process.send_signal(signal.SIGTERM)
    assert outer.process.wait(10) == 7, outer.text


def test_a_log_that_is_opened_anew_and_a_restart_are_no_stop(tmp_path: Path, started: list[Outer]) -> None:
    started.append(outer := Outer(tmp_path, WORKER.format(status=1), hangup="reopen"))
    outer.said("worker")
    outer.process.send_signal(signal.SIGUSR2)
    outer.process.send_signal(signal.SIGHUP)
    outer.said(f"hears {int(signal.SIGHUP)}")
    [inner] = psutil.Process(outer.process.pid).children()
    inner.terminate()
    outer.said("it starts again when a file changes")
    assert outer.process.poll() is None
    outer.process.send_signal(signal.SIGINT)
    assert outer.process.wait(10) == 0


def test_a_worker_whose_outer_process_is_gone_is_told_to_stop(tmp_path: Path, started: list[Outer]) -> None:
    worker = (
        "import os; from cogworker_django import reloading; from cogworker_django.process.commands import Commands;"
        "commands = Commands(); print('worker', flush=True);"
        "reloading._stay(int(os.environ['OUTER']), commands); print('told', commands.get(5), flush=True)"
    )
    started.append(outer := Outer(tmp_path, worker))
    outer.said("worker")
    outer.process.kill()
    outer.said("told stop")
