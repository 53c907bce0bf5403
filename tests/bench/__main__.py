"""`python -m tests.bench`, and what run.py runs: the environments, then the run in the harness's own."""

from tests.bench.harness.environments import enter
from tests.bench.harness.options import read

if __name__ == "__main__":
    enter(
        "tests.bench.harness.measure",
        lambda arguments: {variant.peer for variant in read(arguments).variants},
    )
