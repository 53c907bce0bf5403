"""A worker as operators know it: a process with a log, signals and an exit status."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from tests.scenarios.waiting import eventually
from tests.support import ROOT

BOOT = 30.0
"""Seconds that a boot may take on a machine that does other things too."""
FATAL = ("Traceback (most recent call last)", "Fatal Python error")


class WorkerProcess:
    """A `manage.py cogworker` that this test has started, and the only one that it may end.

    Args:
        command: what runs, after `python`.
        environ: the whole environment.
        log: where its output goes.
        under: a command that runs it in turn.
    """

    def __init__(self, command: list[str], environ: Mapping[str, str], log: Path, under: Sequence[str] = ()) -> None:
        self.log = log
        with log.open("wb") as out:
            self._popen = subprocess.Popen(
                [*under, sys.executable, *command],
                cwd=ROOT,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._popen.pid

    def started(self, seconds: float = BOOT) -> WorkerProcess:
        """Wait until it says that it has started."""
        eventually(lambda: " started: " in self.text or self.has_ended, seconds, f"a start, {self.log}")
        assert not self.has_ended, self.text
        return self

    @property
    def identity(self) -> str:
        """Its name in Redis, from its banner."""
        return self.text.split(" started: ", 1)[1].split(",", 1)[0]

    @property
    def text(self) -> str:
        """What it has written."""
        return self.log.read_text(encoding="utf-8")

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._popen.poll() is not None

    def said(self, words: str, seconds: float = 10.0, times: int = 1) -> None:
        """Wait until its log has these words so often."""
        eventually(lambda: self.text.count(words) >= times, seconds, f"{words!r} in the log", lambda: self.text)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it, if it is still there."""
        self._popen.send_signal(number)

    def terminate(self, seconds: float = 10.0) -> int:
        """Send TERM and wait; its exit status."""
        self.send(signal.SIGTERM)
        return self.exit_status(seconds)

    def exit_status(self, seconds: float = 10.0) -> int:
        """Wait until it has ended; its exit status, negative for a signal."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"process {self.pid} does not end:\n{self.text[-3000:]}") from None

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does."""
        self.send(signal.SIGSTOP)
        status = psutil.Process(self.pid)
        eventually(lambda: status.status() == psutil.STATUS_STOPPED, 5.0, "the process to be stopped")

    def thaw(self) -> None:
        """Let it go on."""
        self.send(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as a crash or the system's memory killer would."""
        with contextlib.suppress(ProcessLookupError):
            self._popen.kill()
        self._popen.wait()

    def reap(self) -> None:
        """End it and whatever its jobs have started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()

    def no_traceback(self) -> None:
        """Its log holds no stack of an error."""
        assert not any(words in self.text for words in FATAL), self.text


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of ours, in which the tests can be imported."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("COGWORKER", "REDIS_URL"))}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return kept | more
