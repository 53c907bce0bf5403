"""How a child comes to be, when it does not."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from cogworker_django.process.commands import STOP, Commands
from cogworker_django.process.link import Link
from cogworker_django.swarm.fork import fork


def leave(_link: Link, _commands: Commands) -> int:
    return 5


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_fork_that_fails_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("no process more")

    monkeypatch.setattr(os, "fork", refuse)
    before = open_files()
    with pytest.raises(BlockingIOError):
        fork(leave, STOP, lambda: None)
    assert open_files() == before


def test_without_a_free_descriptor_there_is_no_child() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = open_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            fork(leave, STOP, lambda: None)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert open_files() == before


THREADED = """
import os, sys, threading
from cogworker_django.swarm.fork import fork
threading.Thread(target=threading.Event().wait, daemon=True).start()
pid, link = fork(lambda link, commands: 5, "stop", lambda: None)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("action", ["error", "always"])
def test_threads_of_a_project_are_no_matter_of_pythons_warnings(action: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", action, "-c", THREADED], stderr=subprocess.PIPE, check=False, timeout=20
    )
    assert done.returncode == 5, done.stderr
    assert b"multi-threaded" not in done.stderr
