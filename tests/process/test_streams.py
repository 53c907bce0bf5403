"""The standard streams of a process that was started without them, or whose reader has gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILLED = """
import json, os, subprocess, sys
from cogworker_django.process import streams
streams.fill()
print("for nobody")
streams.flush()
taken = os.open(os.devnull, os.O_RDONLY)
ends = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
below = subprocess.run(["readlink", *[f"/proc/self/fd/{number}" for number in (0, 2)]], stdout=subprocess.PIPE).stdout
with open(sys.argv[1], "w") as out:
    json.dump({"ends": ends, "taken": taken, "below": below.decode().split()}, out)
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_whatever_is_closed_is_nobodys_and_no_connection_gets_its_number(tmp_path: Path, closed: str) -> None:
    told = tmp_path / "told"
    script = f'exec "$0" -c "$1" "$2" {closed}'
    nothing = subprocess.DEVNULL
    subprocess.run(
        ["sh", "-c", script, sys.executable, FILLED, str(told)],
        check=True,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
    )
    found = json.loads(told.read_text(encoding="utf-8"))
    assert found["ends"] == [os.devnull] * 3
    assert found["below"] == [os.devnull] * 2
    assert found["taken"] > 2


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    script = (
        "import os; from cogworker_django.process import streams; print('for nobody'); streams.flush(); os._exit(5)"
    )
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, env=buffered)
    os.close(writer)
    assert (done.returncode, done.stderr) == (5, b"")
