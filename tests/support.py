"""What several rooms' tests share besides fixtures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cogworker_django.embedded import EmbeddedServer

StartServer = Callable[..., EmbeddedServer]
"""`start_server(*extra, persistent=False)`: a running server of the test's own."""

ROOT = Path(__file__).parent.parent


def manage(*words: str, settings: str = "tests.settings", cwd: Path = ROOT, **environ: str) -> subprocess.Popen[bytes]:
    """Start a management command in a process of its own, with its output in pipes.

    Args:
        words: the command and its arguments.
        settings: the settings module.
        cwd: where it runs.
        environ: variables to add to this process's own.
    """
    # tox sets the encoding, which would hide what the locale of the test does.
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith("COGWORKER") and key != "PYTHONIOENCODING"
    }
    path = os.pathsep.join(filter(None, (str(cwd), str(ROOT), inherited.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "django", *words],
        cwd=cwd,
        env=inherited | {"DJANGO_SETTINGS_MODULE": settings, "PYTHONPATH": path} | environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen[bytes], timeout: float = 30) -> tuple[int, str, str]:
    """Wait for a process of `manage`; return its exit code, its output and its errors."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out.decode(), err.decode()


def project(folder: Path, cogworker: dict[str, object], jobs: str = "", more: str = "") -> dict[str, Any]:
    """Write a project with one app, `shop`, into a folder.

    Args:
        folder: where.
        cogworker: its `COGWORKER`.
        jobs: its `shop/jobs.py`.
        more: further lines of its settings.

    Returns:
        What `manage` needs to run its commands.
    """
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").touch()
    if jobs:
        (folder / "shop" / "jobs.py").write_text(jobs, encoding="utf-8")
    (folder / "project_settings.py").write_text(
        "from tests.settings import *\n"
        "INSTALLED_APPS = ['cogworker_django', 'shop']\n"
        # Django never closes one in memory.
        f"DATABASES['default']['NAME'] = {str(folder / 'db.sqlite3')!r}\n"
        f"COGWORKER = {cogworker!r}\n{more}\n",
        encoding="utf-8",
    )
    return {"settings": "project_settings", "cwd": folder}
