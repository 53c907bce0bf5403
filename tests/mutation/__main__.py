"""`python -m tests.mutation [core|lua] [name ...]`: put faults into the core and the scripts, and run the tests."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.mutation import core, excuses, lua
from tests.mutation.report import LEAST, report


def main(words: list[str]) -> int:
    """Run what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("part", nargs="?", choices=["core", "lua"], help="only this part")
    parser.add_argument("names", nargs="*", help="only these modules of the core, or these scripts")
    told = parser.parse_args(words)
    listed = excuses.read()
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        good = True
        if told.part in (None, "core"):
            verdicts = core.run(Path(scratch) / "core", told.names)
            # Of a single module the list alone decides.
            good &= report("core", verdicts, listed, least=0.0 if told.names else LEAST)
        if told.part in (None, "lua"):
            good &= report("lua", lua.run(Path(scratch) / "lua", told.names), listed)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
