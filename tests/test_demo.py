"""The demonstration, as somebody who tries the package for the first time sees it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import ROOT, finished

PROVED = [
    "pushed",
    "run",
    "retried",
    "died",
    "scheduled",
    "periodic",
    "followed",
    "unique",
    "remembered",
    "pages",
    "bulk",
    "recovered",
    "stopped",
]


def demo(*words: str, **environ: str) -> subprocess.Popen[bytes]:
    """Start `manage.py` of the project; only what a new user has is in its environment."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "PYTHONDEVMODE") if key in os.environ}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "testproject" / "manage.py"), *words],
        env=kept | environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_demo_check_proves_all_of_it(tmp_path: Path) -> None:
    code, out, err = finished(demo("demo", "--check", TMPDIR=str(tmp_path)), timeout=55)
    assert (code, err) == (0, ""), out
    lines = out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"ok  {name}" for name in PROVED]
    assert re.fullmatch(r"All proved in \d+\.\d s\.", lines[-1])
    assert list(tmp_path.iterdir()) == []


def read_until(process: subprocess.Popen[bytes], text: str, times: int = 1) -> str:
    """Read what a process says up to and including a text."""
    assert process.stdout is not None
    read, deadline = "", time.monotonic() + 30
    while read.count(text) < times:
        assert time.monotonic() < deadline, read
        read += process.stdout.readline().decode()
    return read


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_demo_shows_the_workers_log_and_a_signal_stops_all_of_it(tmp_path: Path, number: signal.Signals) -> None:
    process = demo("demo", TMPDIR=str(tmp_path), COLUMNS="200")
    out = read_until(process, "The service answered at attempt 3")
    out += "" if "Import     all" in out else read_until(process, "Import     all 1,000 rows are in")
    process.send_signal(number)
    # Whoever presses Ctrl-C once more does not wait for the slow job.
    out += read_until(process, "stopping: ", times=2)
    process.send_signal(signal.SIGINT)
    code, rest, err = finished(process, timeout=40)
    out += rest
    assert (code, err) == (0, "")
    assert out.startswith("Redis      redis://127.0.0.1:")
    assert out.endswith("All stopped.\n")
    assert "demo.jobs.hopeless is dead: this one was never meant to work" in out
    assert "import_row" not in out, "a thousand times two lines are nothing to read"
    workers = set(re.findall(r"cogworker \S+ started: \S+, pid (\d+)", out))
    assert len(workers) == 2
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
    assert list(tmp_path.iterdir()) == []


def test_the_projects_tables_match_its_models() -> None:
    code, out, err = finished(demo("makemigrations", "--check", "--dry-run"))
    assert code == 0, out + err
