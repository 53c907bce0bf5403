"""A PostgreSQL server of the tests' own, where the machine has the programs."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import psycopg

from cogworker_django.embedded import free_port

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs, by version."""
ACCOUNT = "postgres"
"""The server refuses to run as root; this is who runs it then."""


def programs() -> Path | None:
    """The folder of the programs, the newest; None where there are none."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(INSTALLED.glob("*/bin/initdb"), key=lambda path: float(path.parent.parent.name))
    return versions[-1].parent if versions else None


class Postgres:
    """A server on loopback, with a database `shop` and without a password.

    Args:
        folder: for its data; it must not exist.
    """

    def __init__(self, folder: Path) -> None:
        found = programs()
        assert found is not None
        self._programs = found
        self._data = folder / "data"
        self.port = free_port()
        folder.mkdir(mode=0o755)
        self._user = ACCOUNT if os.geteuid() == 0 else None
        if self._user:
            os.chown(folder, pwd.getpwnam(ACCOUNT).pw_uid, -1)
        self._run("initdb", "-D", str(self._data), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()
        with psycopg.connect(self.address.replace("shop", "postgres"), autocommit=True) as wire:
            wire.execute("CREATE DATABASE shop")

    @property
    def settings(self) -> dict[str, object]:
        """For `DATABASES`."""
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "shop",
            "USER": "tester",
            "HOST": "127.0.0.1",
            "PORT": self.port,
        }

    @property
    def address(self) -> str:
        """For psycopg."""
        return f"host=127.0.0.1 port={self.port} user=tester dbname=shop application_name=tests"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self._data} -c fsync=off -c max_connections=200"
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._data / "log"), "-w", "-o", options, "start")

    def stop(self) -> None:
        """End it at once, and with it all connections."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._programs / program), *words]
        done = subprocess.run(
            command, user=self._user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
