"""The order of a run, and its rows."""

import concurrent.futures
import statistics
import sys
import time
from collections.abc import Callable, Iterable

from tests.bench.adapters import Variant
from tests.bench.harness.places import PORT
from tests.bench.harness.scenarios import SCENARIOS, Row, Size
from tests.bench.harness.server import Server

LOADED = ("enqueue", "drain1", "drain2", "naps")
CALM = ("latency1", "latency3", "scheduled")
ONCE = ("memory", "kill")
FARTHEST = 3  # peers that are measured with a distant Redis: the fastest of the run
IDLE_TOGETHER = 4


class Results:
    """The rows so far, and what went wrong."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.failed: list[str] = []

    def add(self, variant: Variant, scenario: str, row: Row) -> None:
        self.rows.append({"variant": variant.name, "scenario": scenario, **row})
        shown = " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
        say(f"  {variant.name:22} {scenario:9} {shown}")
        if not row.get("complete", True):
            self.fail(variant, scenario, "not all jobs ran in time")
        if row.get("duplicates"):
            self.fail(variant, scenario, f"{row['duplicates']} jobs ran twice")

    def fail(self, variant: Variant, scenario: str, why: str) -> None:
        self.failed.append(f"{variant.name} {scenario}: {why}")
        say(f"  {self.failed[-1]}")

    def values(self, variant: str, scenario: str, figure: str) -> list[float]:
        """This figure of all repeats."""
        rows = [row for row in self.rows if (row["variant"], row["scenario"]) == (variant, scenario)]
        return [row[figure] for row in rows if figure in row]

    def median(self, variant: str, scenario: str, figure: str) -> float | None:
        values = self.values(variant, scenario, figure)
        return statistics.median(values) if values else None


class Bench:
    """Repeats are the outer loop, so that a slow drift of the machine touches all variants alike."""

    def __init__(self, variants: list[Variant], scenarios: set[str], size: Size) -> None:
        self.variants, self.scenarios, self.size = variants, scenarios, size
        self.results = Results()

    def run(self, repeats: int, save: Callable[[], None]) -> None:
        with Server() as server:
            for repeat in range(repeats):
                say(f"repeat {repeat + 1} of {repeats}, {time.strftime('%H:%M:%S')}")
                self.each(LOADED, self.variants, server)
                self.each(CALM, self.variants, server)
                self.idle()
                self.each(("far",), self.fastest(), server)
                save()
            self.each(ONCE, self.variants, server)
            save()

    def each(self, scenarios: Iterable[str], variants: list[Variant], server: Server) -> None:
        for variant in variants:
            for scenario in scenarios:
                self.attempt(scenario, variant, server)

    def attempt(self, scenario: str, variant: Variant, server: Server) -> None:
        """A failure is reported with the results, and the run goes on."""
        if scenario not in self.scenarios & variant.scenarios:
            return
        try:
            self.results.add(variant, scenario, SCENARIOS[scenario](variant, server, self.size))
        except Exception as error:  # noqa: BLE001 (whatever it is, the other scenarios go on)
            self.results.fail(variant, scenario, f"{type(error).__name__}: {str(error).strip()[-600:]}")

    def idle(self) -> None:
        """Idle workers hardly use the processor: four at a time, each with a Redis server of its own."""
        if "idle" not in self.scenarios:
            return
        servers = [Server(PORT + 1 + number) for number in range(IDLE_TOGETHER)]
        try:
            with concurrent.futures.ThreadPoolExecutor(IDLE_TOGETHER) as pool:
                for first in range(0, len(self.variants), IDLE_TOGETHER):
                    pairs = zip(self.variants[first : first + IDLE_TOGETHER], servers, strict=False)
                    list(pool.map(lambda pair: self.attempt("idle", *pair), pairs))
        finally:
            for server in servers:
                server.close()

    def fastest(self) -> list[Variant]:
        def speed(variant: Variant) -> float:
            return self.results.median(variant.name, "drain1", "rate") or 0.0

        peers = [variant for variant in self.variants if variant.role == "peer" and "far" in variant.scenarios]
        chosen = sorted(peers, key=speed, reverse=True)[:FARTHEST]
        return [variant for variant in self.variants if variant in chosen or variant.role != "peer"]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
