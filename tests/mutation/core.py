"""The core under mutmut: faults in cogworker_django/core, found or not by tests/core."""

from __future__ import annotations

import ast
import difflib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.mutation import workspace
from tests.mutation.mutant import Mutant, Verdict

PACKAGE = "cogworker_django.core"
# mutmut's codes: no test failed; no test comes by at all. All others that it gives mean that the fault was found.
SURVIVED = {0, 33}


class MutationError(RuntimeError):
    """The run says nothing: the tests fail without a fault, or some faults were not tried."""


def run(folder: Path, modules: Sequence[str]) -> Iterator[Verdict]:
    """Try all faults.

    Args:
        folder: to work in; it must not exist yet.
        modules: names of modules of the core; none for all of them.

    Raises:
        MutationError: the tests fail without a fault, or some faults were not tried.
    """
    workspace.copy(folder)
    patterns = [f"{PACKAGE}.{module}.*" for module in modules]
    command = [sys.executable, "-m", "mutmut", "run", *patterns]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise MutationError(f"mutmut failed:\n{done.stdout.decode(errors='replace')[-4000:]}")
    for meta in sorted((folder / "mutants").joinpath(*PACKAGE.split(".")).glob("*.py.meta")):
        module = meta.name.removesuffix(".py.meta")
        if not modules or module in modules:
            yield from _verdicts(module, meta)


def _verdicts(module: str, meta: Path) -> Iterator[Verdict]:
    source = meta.with_suffix("")
    for key, code in json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"].items():
        if code is None:
            raise MutationError(f"{key} was not tried")
        yield Verdict(_mutant(module, source, key.rpartition(".")[2]), code not in SURVIVED)


def _mutant(module: str, source: Path, name: str) -> Mutant:
    """Read a fault out of the file in which mutmut has put all variants of a function below each other."""
    functions = _functions(source)
    stem = name.rpartition("__mutmut_")[0]
    before, after = functions[f"{stem}__mutmut_orig"], functions[name]
    changes = list(difflib.ndiff(before[1:], after[1:]))
    lost = [line[2:].strip() for line in changes if line.startswith("- ")]
    come = [line[2:].strip() for line in changes if line.startswith("+ ")]
    # A fault in the head of a function is the default of a parameter, and the head has mutmut's name in it.
    if not lost and not come:
        lost, come = [before[0].replace("__mutmut_orig", "")], [after[0].replace(name, stem)]
    return Mutant(f"core/{module}", stem.removeprefix("x_"), "\n".join(lost), "\n".join(come))


@cache
def _functions(source: Path) -> dict[str, list[str]]:
    """The lines of each function in a file, by name."""
    text = source.read_text(encoding="utf-8")
    lines = text.splitlines()
    return {
        node.name: lines[node.lineno - 1 : node.end_lineno]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
