"""`--reload`: the worker stops when code changes, as at a TERM, and an outer process starts it with the new code.

Django's reloader only watches; what it would do about a change, end the process at once, would end the jobs in it.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from django.utils import autoreload

from cogworker_django.process.commands import CHANGED, Commands

logger = logging.getLogger("cogworker")

CODE_CHANGED = 3
"""The exit status of a worker that has stopped for new code."""
RELAYED = (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGTTIN)
LOOK = 1.0
"""Seconds between two looks at the files while the code is broken."""


def is_inner() -> bool:
    """Whether this process is the worker that an outer one restarts."""
    return os.environ.get(autoreload.DJANGO_AUTORELOAD_ENV) == "true"


def watch(commands: Commands) -> None:
    """Begin to watch the code, in a thread.

    Args:
        commands: where a change is told.
    """

    def changed(file_path: Path, **_: Any) -> bool:
        logger.info("%s has changed", file_path)
        commands.put(CHANGED)
        # It is dealt with: the reloader must not end the process.
        return True

    def watching(**_: Any) -> None:
        logger.info("watching the code for changes")

    autoreload.autoreload_started.connect(watching, weak=False, dispatch_uid="cogworker.reload")
    autoreload.file_changed.connect(changed, weak=False, dispatch_uid="cogworker.reload")
    reloader = autoreload.get_reloader()
    threading.Thread(
        target=reloader.run, args=(threading.main_thread(),), name="cogworker-reloader", daemon=True
    ).start()


def follow() -> int:
    """Run the worker in a process of its own, and again whenever it has stopped for new code.

    Returns:
        The exit status of the last one.
    """
    return _Follower().run()


class _Follower:
    """The outer process."""

    def __init__(self) -> None:
        self._inner: subprocess.Popen[bytes] | None = None
        self._told_to_stop = False

    def run(self) -> int:
        for number in RELAYED:
            signal.signal(number, self._relay)
        signal.signal(signal.SIGINT, self._interrupted)
        environ = {**os.environ, autoreload.DJANGO_AUTORELOAD_ENV: "true"}
        while True:
            known = _times()
            self._inner = subprocess.Popen(autoreload.get_child_arguments(), env=environ, close_fds=False)
            status = self._inner.wait()
            if status not in (0, CODE_CHANGED) and not self._told_to_stop:
                logger.error("the worker has ended with status %d; it starts again when a file changes", status)
                self._wait_for_change(known)
            if status == 0 or self._told_to_stop:
                return status

    def _relay(self, number: int, _frame: FrameType | None) -> None:
        self._told_to_stop = self._told_to_stop or number in (signal.SIGTERM, signal.SIGHUP)
        if self._inner is not None:
            self._inner.send_signal(number)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self._told_to_stop = True
        # From a terminal, the worker has heard it too; twice would mean at once.
        if not sys.stdin.isatty():
            self._relay(number, frame)

    def _wait_for_change(self, known: dict[Path, float]) -> None:
        while not self._told_to_stop and _times() == known:
            time.sleep(LOOK)


def _times() -> dict[Path, float]:
    """When each file of the project's code was last changed; also the new ones beside those that are loaded."""
    folders = {Path(file).parent for file in autoreload.iter_all_python_module_files()}
    ours = [folder for folder in folders if not folder.is_relative_to(sys.prefix) and not _is_base(folder)]
    times = {}
    for folder in ours:
        for file in folder.glob("*.py"):
            try:
                times[file] = file.stat().st_mtime
            except OSError:
                continue
    return times


def _is_base(folder: Path) -> bool:
    return folder.is_relative_to(sys.base_prefix)
