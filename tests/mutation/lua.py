"""The Lua scripts: faults in cogworker_django/store/lua, found or not by the tests that run the script."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutation import operators, workspace
from tests.mutation.core import MutationError
from tests.mutation.mutant import Mutant, Verdict

FOLDER = Path("cogworker_django/store/lua")
INCLUDE = re.compile(r"^--- include ([a-z_/]+)$", re.MULTILINE)
# Those that run scripts in their own process, so that it can be seen which.
TESTS = ("tests/store", "tests/api", "tests/worker")
TOLD = 30  # last lines of a run that broke off


def run(folder: Path, scripts: Sequence[str]) -> Iterator[Verdict]:
    """Try all faults.

    Args:
        folder: to work in; it must not exist yet.
        scripts: names of scripts, as `exchange` or `lib/ring`; none for all of them.

    Raises:
        MutationError: the tests fail without a fault.
    """
    workspace.copy(folder)
    planned = list(_plan(folder, scripts))
    (folder / "plan.json").write_text(json.dumps([task for _, task in planned]), encoding="utf-8")
    tried = 0
    for killed in _verdicts(folder):
        yield Verdict(planned[tried][0], killed)
        tried += 1
    if tried < len(planned):
        tail = (folder / "pytest.log").read_text(encoding="utf-8", errors="replace").splitlines()[-TOLD:]
        raise MutationError("\n".join(["the tests of the scripts broke off:", *tail]))


def _plan(folder: Path, wanted: Sequence[str]) -> Iterator[tuple[Mutant, dict[str, object]]]:
    texts = {
        path.relative_to(folder / FOLDER).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((folder / FOLDER).rglob("*.lua"))
    }
    for name in wanted or texts:
        lines = texts[name].splitlines()
        for number, line in enumerate(lines):
            for operator, changed in operators.mutations(line):
                mutant = Mutant(f"lua/{name}", operator, line.strip(), changed.strip())
                text = "\n".join([*lines[:number], changed, *lines[number + 1 :]]) + "\n"
                yield mutant, {"path": f"{FOLDER}/{name}.lua", "text": text, "scripts": _users(name, texts)}


def _users(name: str, texts: dict[str, str]) -> list[str]:
    """The scripts that a file is part of."""
    if not name.startswith("lib/"):
        return [name]
    including = [other for other, text in texts.items() if name in INCLUDE.findall(text)]
    return sorted({user for other in including for user in _users(other, texts)})


def _verdicts(folder: Path) -> Iterator[bool]:
    """Run pytest with the plugin `forks`, which says for one fault after the other whether a test failed."""
    reading, writing = os.pipe()
    command = [
        *(sys.executable, "-m", "pytest", *TESTS, "-m", "not slow", "-q", "-s", "--tb=line", "--basetemp=scratch"),
        *("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "tests.mutation.forks"),
        *("--plan=plan.json", f"--verdicts={writing}", "--timeout=30"),
    ]
    with (folder / "pytest.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(writing,)
        )
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="ascii") as verdicts:
            for line in verdicts:
                yield line.strip() == "killed"
    finally:
        # As by Ctrl-C, so that it stops its server.
        process.send_signal(signal.SIGINT)
        process.wait()
