"""The README and the code name the same things."""

from __future__ import annotations

import argparse
import ast
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

from cogworker_django.core.config import Config, WebConfig
from tests.support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = ("cogworker", "cogworker_queue", "cogworker_redis", "cogworker_status")
# Flags of other programs, and of ours that the README lists as not there yet.
FOREIGN_FLAGS = {"--", "--check", "--deploy", "--help", "--stop-timeout"}


def section(title: str) -> str:
    """The text of one part of the README, up to the next title of the same rank."""
    rank = re.escape(title.split()[0])
    found = re.search(rf"^{re.escape(title)}\n(.*?)(?=^{rank} |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"the README has no part {title!r}"
    return found[1]


def flags_of(command: str) -> set[str]:
    parser = load_command_class("cogworker_django", command).create_parser("manage.py", command)
    every_command_has = BaseCommand().create_parser("manage.py", command)
    return _flags(parser) - _flags(every_command_has)


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def test_every_setting_stands_in_the_table_of_settings_and_nothing_else_does() -> None:
    cells = re.findall(r"^\| (`[A-Z].*?) \|", section("## Settings"), re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([A-Z_]+)`", cell)}
    assert named == {field.name.upper() for field in fields(Config)}


def test_every_setting_of_the_pages_stands_in_their_table() -> None:
    cells = re.findall(r"^\| (`[A-Z].*?) \|", section("### Settings of the pages"), re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([A-Z_]+)`", cell)}
    assert named == {field.name.upper() for field in fields(WebConfig)}


def test_every_flag_of_the_worker_stands_in_its_table_and_nothing_else_does() -> None:
    cells = re.findall(r"^\| (`-.*?) \|", section("## The worker"), re.MULTILINE)
    named = {flag for cell in cells for flag in re.findall(r"(--?[a-zA-Z][a-z-]*)", cell)}
    assert named == flags_of("cogworker")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_told_of(command: str) -> None:
    assert f"manage.py {command}" in README


def test_no_flag_is_invented() -> None:
    known = {flag for command in COMMANDS for flag in flags_of(command)} | FOREIGN_FLAGS
    known |= set(re.findall(r"--[a-z][a-z-]*", section("## Not there yet")))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", README)) <= known


def test_every_name_that_the_examples_import_exists() -> None:
    for module, names in re.findall(r"^from (cogworker_django\S*) import (.+)$", README, re.MULTILINE):
        assert module in ("cogworker_django", "cogworker_django.web.extend")
        for name in names.split(", "):
            assert hasattr(import_module(module), name), name


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_every_example_is_python(block: str) -> None:
    ast.parse(block, mode="exec", feature_version=(3, 11))


def test_every_link_inside_the_readme_leads_somewhere() -> None:
    titles = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", README, re.M)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", README)) <= titles


def test_no_file_of_the_project_names_a_path_of_somebodys_machine() -> None:
    for path in (Path("README.md"), Path("tox.ini"), Path("pyproject.toml")):
        assert not re.search(r"/(root|home)/", (ROOT / path).read_text(encoding="utf-8")), path
