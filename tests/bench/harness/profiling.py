"""The command line of profile.py. Standard library only; `sampling` goes on in the harness's environment."""

import argparse
from dataclasses import dataclass

from tests.bench import adapters
from tests.bench.adapters import Variant
from tests.bench.harness.environments import enter

SAMPLER = "profile"


@dataclass(frozen=True)
class Options:
    variant: Variant
    jobs: int
    top: int
    rate: int


def read(arguments: list[str]) -> Options:
    known = adapters.load()
    parser = argparse.ArgumentParser(
        prog="tests/bench/profile.py",
        description="Sample one worker process with 10 slots that drains a full queue of no-op jobs, "
        "and print which functions held the interpreter, as Markdown.",
    )
    parser.add_argument("variant", nargs="?", default="cogworker", choices=list(known), metavar="VARIANT")
    parser.add_argument("--jobs", type=int, default=150_000, help="default 150,000")
    parser.add_argument("--top", type=int, default=20, help="functions to show; default 20")
    parser.add_argument("--rate", type=int, default=1_000, help="samples a second; default 1,000")
    options = parser.parse_args(arguments)
    return Options(known[options.variant], options.jobs, options.top, options.rate)


if __name__ == "__main__":
    enter("tests.bench.harness.sampling", lambda arguments: {read(arguments).variant.peer, SAMPLER})
