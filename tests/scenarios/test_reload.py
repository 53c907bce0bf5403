"""`--reload`: changed code restarts the worker, and no job is cut off by that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from tests.scenarios.process import environment
from tests.scenarios.waiting import eventually
from tests.support import ROOT, project

pytestmark = pytest.mark.slow

JOBS = """
import time
from pathlib import Path
from cogworker_django import job

@job(name="write")
def write(path, seconds=0.0):
    time.sleep(seconds)
    Path(path).write_text("{version}")
"""


class Reloading:
    """A `cogworker --reload` on a project of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        project(folder, {"REDIS": url, "SHUTDOWN_TIMEOUT": 10}, JOBS.format(version="old"))
        self.log = folder / "log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "django", "cogworker", "--reload", "-c", "2"],
                cwd=folder,
                env=environment(DJANGO_SETTINGS_MODULE="project_settings", PYTHONPATH=f"{folder}:{ROOT}"),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def started(self, times: int) -> None:
        words = (" started: ", "watching the code")
        eventually(
            lambda: [self.text.count(word) for word in words] == [times] * 2, 20, f"start {times}", lambda: self.text
        )
        # What changes before its first look is the old state for the reloader.
        time.sleep(0.1)

    def write(self, version: str) -> None:
        """Change the code; the time of the file changes by a second at least."""
        file = self.folder / "shop" / "jobs.py"
        stamp = file.stat().st_mtime + 2
        file.write_text(version, encoding="utf-8")
        os.utime(file, (stamp, stamp))


@pytest.fixture
def reloading(tmp_path: Path, redis_url: str) -> Iterator[Reloading]:
    made = Reloading(tmp_path, redis_url)
    yield made
    try:
        os.killpg(made.process.pid, signal.SIGKILL)
    except ProcessLookupError:
        assert made.process.poll() is not None
    made.process.wait()


def push(client: redis.Redis, path: Path, seconds: float = 0.0) -> None:
    payload = f'{{"class":"write","args":["{path}",{seconds}],"queue":"default","jid":"{os.urandom(12).hex()}"}}'
    client.lpush("cogworker:queue:default", payload)


def test_a_change_lets_jobs_finish_and_brings_the_new_code(
    reloading: Reloading, redis_client: redis.Redis, tmp_path: Path
) -> None:
    reloading.started(1)
    push(redis_client, tmp_path / "first", 2.0)
    eventually(lambda: "start: write" in reloading.text, 5, "the job to run")
    reloading.write(JOBS.format(version="new"))
    eventually(lambda: "jobs.py has changed" in reloading.text, 10, "the change to be seen", lambda: reloading.text)
    reloading.started(2)
    assert (tmp_path / "first").read_text(encoding="utf-8") == "old"
    push(redis_client, tmp_path / "second")
    eventually((tmp_path / "second").exists, 5, "the second job")
    assert (tmp_path / "second").read_text(encoding="utf-8") == "new"
    assert redis_client.hlen("cogworker:beats") == 1
    reloading.process.send_signal(signal.SIGTERM)
    assert reloading.process.wait(15) == 0
    assert "Traceback" not in reloading.text
    assert redis_client.hlen("cogworker:beats") == 0


def test_broken_code_waits_until_it_is_mended(reloading: Reloading) -> None:
    reloading.started(1)
    reloading.write("this is no Python")
    eventually(lambda: "it starts again when a file changes" in reloading.text, 15, "a fault", lambda: reloading.text)
    reloading.write(JOBS.format(version="mended"))
    reloading.started(2)
    reloading.process.send_signal(signal.SIGINT)
    assert reloading.process.wait(15) == 0
    assert not psutil.pid_exists(reloading.process.pid)
