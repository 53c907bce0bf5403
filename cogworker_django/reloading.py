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

from cogworker_django.process.commands import CHANGED, CODE_CHANGED, STOP, Commands
from cogworker_django.swarm.reaper import described

logger = logging.getLogger("cogworker")

RELAYED = (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGTTIN)
LOOK = 1.0
"""Seconds between two looks: at the files while the code is broken, and whether the outer process is there."""


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
    threading.Thread(target=_stay, args=(os.getppid(), commands), name="cogworker-outer", daemon=True).start()


def _stay(outer: int, commands: Commands) -> None:
    """Stop when the outer process is gone: nobody could stop this one from the terminal then."""
    while os.getppid() == outer:
        time.sleep(LOOK)
    logger.warning("the outer process is gone")
    commands.put(STOP)


def follow(hangup: str) -> int:
    """Run the worker in a process of its own, and again whenever it has stopped for new code.

    Args:
        hangup: what a HUP asks for.

    Returns:
        The exit status of the last one; 0 when it was told to stop and did.
    """
    return _Follower(hangup).run()


class _Follower:
    """The outer process."""

    def __init__(self, hangup: str) -> None:
        self._inner: subprocess.Popen[bytes] | None = None
        self._stops = {signal.SIGTERM, signal.SIGINT} | ({signal.SIGHUP} if hangup == STOP else set())
        self._told: list[int] = []
        """The signals that have told it to stop."""

    def run(self) -> int:
        for number in RELAYED:
            signal.signal(number, self._relay)
        signal.signal(signal.SIGINT, self._interrupted)
        # A restart is asked of swarms only, and this would be the end of it.
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        while not self._told:
            known = _times()
            status = self._run_once()
            if self._told:
                # Stopped before it heard signals, or while it stopped for new code: as it was told either way.
                return 0 if status == CODE_CHANGED or -status in self._stops else status
            if status == 0:
                return 0
            if status != CODE_CHANGED:
                logger.error("the worker has ended %s; it starts again when a file changes", described(status))
                self._wait_for_change(known)
        return 0

    def _run_once(self) -> int:
        environ = {**os.environ, autoreload.DJANGO_AUTORELOAD_ENV: "true"}
        self._inner = subprocess.Popen(autoreload.get_child_arguments(), env=environ, close_fds=False)
        if self._told:
            # While it was started: nobody has told it.
            self._inner.terminate()
        return self._inner.wait()

    def _relay(self, number: int, _frame: FrameType | None) -> None:
        self._told += [number] * (number in self._stops)
        if self._inner is not None:
            self._inner.send_signal(number)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if sys.stdin.isatty():
            # From a terminal, the worker has heard it too; twice would mean at once.
            self._told.append(number)
        else:
            self._relay(number, frame)

    def _wait_for_change(self, known: dict[Path, float]) -> None:
        while not self._told and _times() == known:
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
