#!/usr/bin/env python3
"""Measure the job queues side by side: run.py [--quick] [peer ...]. See README.md."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # In place of this directory, which has a module called `profile`.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    runpy.run_module("tests.bench", run_name="__main__", alter_sys=True)
