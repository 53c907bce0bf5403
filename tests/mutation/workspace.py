"""A copy of the project to put faults into, so that nobody else meets them."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# All that the tests need, as they look at each other and at the project's files.
COPIED = ("cogworker_django", "tests", "testproject", "pyproject.toml", "tox.ini", "README.md", "LICENSE")


def copy(folder: Path) -> Path:
    """Copy the project into a folder, which must not exist yet; return the folder."""
    folder.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy2(source, folder / name)
    return folder
