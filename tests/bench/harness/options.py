"""The command line of run.py. Standard library only."""

import argparse
from dataclasses import dataclass

from tests.bench import adapters
from tests.bench.adapters import Variant

ABOUT = """Measure the job queues side by side; README.md beside this file tells how.

The environments of the chosen peers are created first, where they are missing. Prints Markdown, and leaves
the rows of the run under tests/bench/.venv/results.
"""
# What a run leaves out unless it is named: `kill` is to be read, not compared.
ON_DEMAND = {"kill"}
SLOW = {"memory"}


@dataclass(frozen=True)
class Options:
    variants: list[Variant]
    scenarios: set[str]
    quick: bool
    repeats: int


def read(arguments: list[str]) -> Options:
    known = adapters.load()
    options = parser().parse_args(arguments)
    if options.list:
        parser().exit(message="".join(f"{name}\n" for name in known))
    names = {name for variant in known.values() for name in (variant.name, variant.peer)}
    if strangers := set(options.peers) - names:
        parser().error(f"no such peer: {', '.join(sorted(strangers))}; see --list")
    chosen = [v for v in known.values() if not options.peers or {v.name, v.peer} & set(options.peers)]
    return Options(
        variants=chosen,
        scenarios=scenarios(options.only, options.quick),
        quick=options.quick,
        repeats=options.repeats or (1 if options.quick else 3),
    )


def scenarios(only: str | None, quick: bool) -> set[str]:
    every = {name for variant in adapters.load().values() for name in variant.scenarios}
    if only is None:
        return every - ON_DEMAND - (SLOW if quick else set())
    wanted = {name for word in only.split(",") for name in every if name.startswith(word)}
    if not wanted:
        parser().error(f"no such scenario: {only}; there are {', '.join(sorted(every))}")
    return wanted


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tests/bench/run.py", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("peers", nargs="*", help="peers or variants; all of them by default")
    made.add_argument("--quick", action="store_true", help="about a tenth of the jobs, one repeat")
    made.add_argument("--repeats", type=int, help="default 3, with --quick 1")
    made.add_argument("--only", metavar="SCENARIO,...", help="or the beginnings of their names: drain,latency")
    made.add_argument("--list", action="store_true", help="list the variants and end")
    return made
