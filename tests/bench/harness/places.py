"""Where things are. Standard library only: this is read before any environment exists."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
STATE = HERE / ".venv"  # a name that version control, linters and the build leave out
VENVS = Path(os.environ.get("BENCH_VENVS") or STATE)
RESULTS = STATE / "results"
# The Redis servers of a run and the proxy listen on this port and the nine after it.
PORT = int(os.environ.get("BENCH_REDIS_PORT", "7390"))
