"""Samples a worker with py-spy, from outside: that slows it less than a profiler inside. By function."""

import collections
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.adapters import Setup
from tests.bench.harness.environments import binary
from tests.bench.harness.places import ROOT
from tests.bench.harness.profiling import SAMPLER, Options, read
from tests.bench.harness.server import Server
from tests.bench.harness.workers import Workers

FRAME = re.compile(r"^(?P<function>.+) \((?P<file>[^():]+)(?::\d+)?\)$")


class Sampler:
    """py-spy, attached to a process; only threads that hold the interpreter count."""

    def __init__(self, pid: int, rate: int, output: Path) -> None:
        self.output = output
        argv = [str(binary(SAMPLER, "py-spy")), "record", "--gil", "--function", "--format", "raw"]
        argv += ["--rate", str(rate), "--pid", str(pid), "--output", str(output)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if "Sampling process" not in said:
            raise RuntimeError(f"py-spy could not attach: {said}{self.process.communicate()[0]}")

    def stop(self) -> collections.Counter[tuple[str, ...]]:
        """Samples by stack, outermost function first."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        stacks: collections.Counter[tuple[str, ...]] = collections.Counter()
        for line in self.output.read_text().splitlines():
            stack, count = line.rsplit(" ", 1)
            stacks[tuple(name(frame) for frame in stack.split(";"))] += int(count)
        return stacks


def name(frame: str) -> str:
    """`function (module/file.py)`, with the path cut to what tells it apart."""
    found = FRAME.match(frame)
    if not found:
        return frame
    path = found["file"].removeprefix(f"{ROOT}/")
    short = re.sub(r"^.*?(site-packages|python3\.\d+)/", "", path)
    return f"`{found['function']}` {short}"


def sample(options: Options) -> tuple[collections.Counter[tuple[str, ...]], int, float]:
    """Stacks, and the jobs that ran and the seconds that passed meanwhile."""
    with Server() as server, Workers(options.variant, Setup(), server) as workers:
        workers.fill(options.jobs, "noop")
        workers.start()
        reader = workers.reader
        workers.wait(lambda: len(reader.numbers) > 0, 30)
        sampler = Sampler(workers.processes[0].pid, options.rate, workers.directory / "samples")
        reader.poll()
        before, start = len(reader.records), time.monotonic()
        workers.wait(lambda: len(reader.numbers) >= options.jobs, 120)
        took = time.monotonic() - start
        return sampler.stop(), len(reader.records) - before, took


def table(options: Options) -> str:
    stacks, jobs, took = sample(options)
    total = stacks.total()
    if not jobs or not total:
        raise RuntimeError("nothing was sampled: give it more --jobs, or a variant whose worker is one process")
    alone: collections.Counter[str] = collections.Counter()
    within: collections.Counter[str] = collections.Counter()
    for stack, count in stacks.items():
        alone[stack[-1]] += count
        for function in set(stack):
            within[function] += count
    job = 1e6 / options.rate / jobs  # microseconds of a job that one sample stands for
    lines = [
        f"{options.variant.name}: {jobs:,} no-op jobs in {took:.1f} s while sampled ({jobs / took:,.0f}/s), "
        f"the interpreter busy {total * job:.1f} of {took / jobs * 1e6:.1f} µs a job, {total:,} samples.",
        "",
        "| alone | µs a job | with callees | function |",
        "| --- | --- | --- | --- |",
    ]
    for function, count in alone.most_common(options.top):
        lines.append(f"| {count / total:.1%} | {count * job:.2f} | {within[function] / total:.1%} | {function} |")
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        print(table(read(sys.argv[1:])))
    except RuntimeError as error:
        sys.exit(f"tests/bench: {error}")
