"""The virtual environment of each peer, made from its requirement file. Standard library only.

The harness itself runs in the environment of the bare client, which has redis-py.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.bench.harness.places import HERE, ROOT, VENVS

HARNESS = "bare"
OLDEST = (3, 12)  # what the pinned Django needs
TOO_OLD = f"import sys; sys.exit(sys.version_info < {OLDEST})"


def enter(module: str, wanted: Callable[[list[str]], set[str]]) -> NoReturn:
    """Make the environments that `wanted` names for our arguments; go on as `module` in the harness's own."""
    names = wanted(sys.argv[1:]) | {HARNESS}
    try:
        check_machine()
        for name in sorted(names):
            prepare(name)
    except (OSError, RuntimeError) as error:
        sys.exit(f"tests/bench: {error}")
    python = str(binary(HARNESS, "python"))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    os.execve(python, [python, "-m", module, *sys.argv[1:]], environ)


def binary(name: str, command: str) -> Path:
    return VENVS / name / "bin" / command


def check_machine() -> None:
    if not sys.platform.startswith("linux"):
        raise RuntimeError("workers are watched through /proc: this needs Linux")
    redis_server()


def redis_server() -> str:
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        raise RuntimeError("neither redis-server nor valkey-server is on PATH (Debian: apt-get install redis-server)")
    return found


def interpreter() -> str:
    """A Python that the pinned requirements support: BENCH_PYTHON, the one that runs this, or one on PATH."""
    if chosen := os.environ.get("BENCH_PYTHON"):
        return chosen
    for candidate in (sys.executable, "python3.13", "python3.12", "python3.14"):
        path = shutil.which(candidate)
        if path and subprocess.run([path, "-c", TOO_OLD], capture_output=True).returncode == 0:
            return path
    raise RuntimeError("no Python 3.12 or later found: put one on PATH, or name it in BENCH_PYTHON")


def prepare(name: str) -> None:
    """Create the environment, or bring it up to date with its file; nothing when it is."""
    requirements = HERE / "requirements" / f"{name}.txt"
    stamp = VENVS / name / "made-from"
    state = fingerprint(requirements)
    if stamp.exists() and stamp.read_text() == state:
        return
    print(f"environment {name}: installing {requirements.relative_to(ROOT)}", file=sys.stderr, flush=True)
    if not binary(name, "python").exists():
        run([interpreter(), "-m", "venv", str(VENVS / name)], name)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)]
    run([str(binary(name, "python")), *install], name)
    stamp.write_text(state)


def fingerprint(requirements: Path) -> str:
    """The file, and where it installs this checkout, that and what the checkout itself depends on."""
    text = requirements.read_text()
    if "BENCH_CHECKOUT" in text:
        text += f"{ROOT}\n{(ROOT / 'pyproject.toml').read_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


def run(argv: list[str], name: str) -> None:
    environ = {**os.environ, "BENCH_CHECKOUT": str(ROOT)}
    done = subprocess.run(argv, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"could not make the environment {name}:\n{done.stderr[-2000:]}")
