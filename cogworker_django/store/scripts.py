"""Loads the Lua files, resolves their includes and checks that each opens with its contract."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

INCLUDE = re.compile(r"^--- include (?P<name>[a-z_/]+)$", re.MULTILINE)
KEYS_USED = re.compile(r"\bKEYS\[(\d+)\]")
ARGV_USED = re.compile(r"\bARGV\[(\d+)\]")
CONTRACT_LINE = re.compile(r"^-- (?:(KEYS|ARGV)\[(\d+)\.{0,3}\] |(RETURNS): |(BUILDS): )", re.MULTILINE)


class ScriptError(ValueError):
    """A Lua file breaks the rules for scripts; its text names the file and the rule."""


@dataclass(frozen=True)
class Script:
    """A script's whole text, includes resolved, and the hash by which the server knows it."""

    name: str
    source: str
    sha: str


@cache
def load(name: str) -> Script:
    """The script of `lua/<name>.lua`.

    Raises:
        ScriptError: the file is missing, includes itself, or its contract does not match what it uses.
    """
    text = _text(name)
    check_contract(name, text)
    source = _resolved(text, (name,))
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def names() -> list[str]:
    """All scripts, without the shared parts in `lua/lib`."""
    return sorted(entry.name.removesuffix(".lua") for entry in _folder().iterdir() if entry.name.endswith(".lua"))


def check_contract(name: str, text: str) -> None:
    """Refuses a script whose head does not name each key and argument that it uses, what it returns and builds."""
    head = text.split("\nlocal ", 1)[0] if "\nlocal " in text else text
    told: set[tuple[str, int]] = set()
    words: set[str] = set()
    for kind, number, returns, builds in CONTRACT_LINE.findall(head):
        if kind:
            told.add((kind, int(number)))
        words.add(returns or builds)
    body = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    for kind, pattern in (("KEYS", KEYS_USED), ("ARGV", ARGV_USED)):
        for number in sorted({int(number) for number in pattern.findall(body)}):
            if (kind, number) not in told:
                raise ScriptError(f"lua/{name}.lua uses {kind}[{number}] but its contract does not name it.")
    for word in ("RETURNS", "BUILDS"):
        if word not in words:
            raise ScriptError(f"lua/{name}.lua has no {word} line in its contract.")


def _folder() -> Traversable:
    return files(__package__).joinpath("lua")


def _text(name: str) -> str:
    entry = _folder().joinpath(f"{name}.lua")
    if not entry.is_file():
        raise ScriptError(f"There is no script lua/{name}.lua.")
    return entry.read_text(encoding="utf-8")


def _resolved(text: str, path: tuple[str, ...]) -> str:
    def include(match: re.Match[str]) -> str:
        name = match["name"]
        if name in path:
            raise ScriptError(f"lua/{name}.lua includes itself through {' and '.join(path)}.")
        return _resolved(_text(name), (*path, name))

    return INCLUDE.sub(include, text)
