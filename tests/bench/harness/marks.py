"""The figures that we mean to reach, against those of the same run."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.adapters import Variant
from tests.bench.harness.bench import Results

OURS = "cogworker"
FULL = "cogworker-full"
# Pick-up by an idle worker: p50 and p99 in ms, or this many times the floor of the run.
PICK_UP = {"p50": 1.3, "p99": 3.0}
FLOOR_FACTOR = 1.5


@dataclass(frozen=True)
class Mark:
    figure: str
    wanted: str
    reached: str
    met: bool


class Marks:
    """Only those marks whose figures were measured."""

    def __init__(self, results: Results, variants: list[Variant]) -> None:
        self.results = results
        self.peers = [variant for variant in variants if variant.role == "peer"]

    def markdown(self) -> str:
        lines = ["| figure | to reach | reached | |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {mark.figure} | {mark.wanted} | {mark.reached} | {'yes' if mark.met else '**no**'} |" for mark in self
        ]
        return "\n".join(lines) if len(lines) > 2 else ""

    def __iter__(self) -> Iterator[Mark]:
        yield from self.rates()
        yield from self.full()
        yield from self.enqueuing()
        yield from self.pick_up()
        yield from self.idling()
        yield from self.fixed("10,000 due at once: last one started, s", "scheduled", "last", below=0.5, digits=2)
        yield from self.fixed("memory for 100,000 jobs, MiB", "memory", "slope", below=1, digits=2)

    def rates(self) -> Iterator[Mark]:
        one = ("drain1", "rate")
        yield from self.times("no-op jobs/s", one, 15, "the fastest at-least-once peer", self.fastest())
        yield from self.times("no-op jobs/s", one, 70, "Celery with threads", self.peer("celery-threads-late", *one))
        yield from self.times("no-op jobs/s", one, 0.4, "bare-orjson", self.peer("bare-orjson", *one))
        yield from self.times("with two processes", ("drain2", "rate"), 1.5, "one process", self.ours(*one))
        yield from self.fixed("round trips a job under load", "drain1", "round_trips", below=0.1, digits=3)
        yield from self.fixed("10 ms jobs/s of the ideal 1,000", "naps", "rate", above=970)
        yield from self.times("with Redis 1 ms away", ("far", "rate"), 0.7, "the rate without", self.ours(*one))

    def full(self) -> Iterator[Mark]:
        """With job status and history on; the peers keep neither."""
        rate = self.results.median(FULL, "drain1", "rate")
        yield from compare("with status and history", rate, 0.45, OURS, self.ours("drain1", "rate"))
        yield from compare("with status and history", rate, 12, "the fastest at-least-once peer", self.fastest())

    def enqueuing(self) -> Iterator[Mark]:
        one = ("enqueue", "rate")
        yield from self.times("enqueue one by one/s", one, 0.6, "a bare LPUSH", self.peer("floor-lpush", *one))
        others = [rate for peer in self.peers if (rate := self.peer(peer.name, *one))]
        yield from self.times("enqueue one by one/s", one, 1, "the fastest peer", max(others, default=None))
        yield from self.fixed("in bulk/s", "enqueue", "bulk_rate", above=100_000)

    def pick_up(self) -> Iterator[Mark]:
        for scenario, queues in (("latency1", "one queue"), ("latency3", "three queues")):
            for figure, limit in PICK_UP.items():
                floor = self.peer("floor-bell", scenario, figure) or 0.0
                title = f"pick-up {figure} with {queues}, ms (floor {floor:.1f})"
                yield from self.fixed(title, scenario, figure, below=max(limit, FLOOR_FACTOR * floor), digits=1)

    def idling(self) -> Iterator[Mark]:
        yield from self.fixed("idle: Redis commands/s", "idle", "commands_s", below=3, digits=1)
        yield from self.fixed("idle: % of a core", "idle", "cpu_percent", below=0.5, digits=2)
        yield from self.fixed("idle: proportional MiB", "idle", "pss", below=43)

    def ours(self, scenario: str, figure: str) -> float | None:
        return self.results.median(OURS, scenario, figure)

    def peer(self, name: str, scenario: str, figure: str) -> float | None:
        return self.results.median(name, scenario, figure)

    def fastest(self) -> float | None:
        rates = [self.peer(peer.name, "drain1", "rate") or 0.0 for peer in self.peers if peer.redelivers]
        return max(rates, default=None)

    def times(
        self, title: str, which: tuple[str, str], factor: float, other: str, rate: float | None
    ) -> Iterator[Mark]:
        yield from compare(title, self.ours(*which), factor, other, rate)

    def fixed(
        self,
        title: str,
        scenario: str,
        figure: str,
        *,
        above: float | None = None,
        below: float | None = None,
        digits: int = 0,
    ) -> Iterator[Mark]:
        value = self.ours(scenario, figure)
        if value is None:
            return
        if above is not None:
            yield Mark(title, f"≥ {above:,.{digits}f}", f"{value:,.{digits}f}", value >= above)
        elif below is not None:
            yield Mark(title, f"≤ {below:,.{digits}f}", f"{value:,.{digits}f}", value <= below)


def compare(title: str, rate: float | None, factor: float, other: str, base: float | None) -> Iterator[Mark]:
    """`rate` should be `factor` times that of the other, or that share of it."""
    if not rate or not base:
        return
    ratio = rate / base
    if factor < 1:
        wanted, reached = f"≥ {factor:.0%} of {other} ({base:,.0f})", f"{rate:,.0f}, {ratio:.0%}"
    else:
        wanted, reached = f"≥ {factor:g} x {other} ({base:,.0f})", f"{rate:,.0f}, {ratio:.1f} x"
    yield Mark(title, wanted, reached, ratio >= factor)
