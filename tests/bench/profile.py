#!/usr/bin/env python3
"""Where the microseconds of a job go in a loaded worker: profile.py [--jobs N] [VARIANT]. See README.md."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # In place of this directory, whose `profile` would hide the standard library's.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    runpy.run_module("tests.bench.harness.profiling", run_name="__main__", alter_sys=True)
