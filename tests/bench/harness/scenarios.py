"""What is measured: each scenario starts its workers on an empty server and returns one row of figures."""

import collections
import re
import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.bench.adapters import Setup, Variant
from tests.bench.harness.places import PORT
from tests.bench.harness.proxy import Proxy
from tests.bench.harness.server import Server
from tests.bench.harness.workers import Workers

Row = dict[str, Any]
ENQUEUED = 20_000
AWAY_MS = 1.0
MEMORY_STEP = 100_000
SIZES = {"list": "llen", "hash": "hlen", "zset": "zcard", "set": "scard", "stream": "xlen"}


class Size:
    """How much of everything: all of it, or about a tenth with --quick."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick

    def jobs(self, count: int) -> int:
        return max(200, count // 10) if self.quick else count

    def pick(self, whole: int, quick: int) -> int:
        return quick if self.quick else whole


def slots(variant: Variant) -> int:
    """10 a process. Process pools get one slot a process, so that one process and two mean that."""
    return 1 if variant.process_pool else 10


def enqueue(variant: Variant, server: Server, size: Size) -> Row:
    """The peer's ordinary call 20,000 times in a row, and its bulk call where it has one."""
    server.client.flushall()
    with Workers(variant, Setup(), server) as workers:
        figures = workers.enqueue("single", size.jobs(min(ENQUEUED, variant.jobs)), "noop")
        row = {name: figures[name] for name in ("rate", "commands", "round_trips", "cpu_us")}
        if variant.bulk:
            server.client.flushall()
            row["bulk_rate"] = workers.enqueue("bulk", size.jobs(variant.jobs), "noop")["rate"]
    return row


def drain(variant: Variant, server: Server, size: Size, processes: int) -> Row:
    """No-op jobs from a queue that is full when the workers start."""
    server.client.flushall()
    with Workers(variant, Setup(processes, slots(variant)), server) as workers:
        jobs = size.jobs(variant.jobs)
        workers.fill(jobs, "noop")
        return follow(workers, server, jobs, processes)


def naps(variant: Variant, server: Server, size: Size) -> Row:
    """Jobs that sleep 10 ms, one worker with 10 slots: 1,000 a second would be ideal."""
    server.client.flushall()
    with Workers(variant, Setup(), server) as workers:
        jobs = size.jobs(variant.naps)
        workers.fill(jobs, "nap")
        return follow(workers, server, jobs)


def far(variant: Variant, server: Server, size: Size) -> Row:
    """The drain with one process and a Redis that is 1 ms away."""
    server.client.flushall()
    with Proxy(PORT + 9, server.port, AWAY_MS) as proxy:
        setup = Setup(1, slots(variant))
        with Workers(variant, setup, server, BENCH_REDIS_URL=proxy.url) as workers:
            jobs = size.jobs(variant.jobs // 3)
            workers.fill(jobs, "noop")
            return follow(workers, server, jobs)


def follow(workers: Workers, server: Server, jobs: int, processes: int = 1, seconds: float = 180) -> Row:
    """Start the workers and watch them until `jobs` have run.

    The rate counts from the first completion in the last of the processes to start; round trips and CPU from
    the moment that the harness has seen it.
    """
    reader = workers.reader
    processes = 1 if workers.variant.forks else processes
    workers.start()
    workers.wait(lambda: len(reader.firsts()) >= processes or len(reader.numbers) >= jobs, seconds)
    seen, cpu, before = len(reader.records), workers.cpu(), server.counters()
    complete = workers.wait(lambda: len(reader.numbers) >= jobs, seconds)
    seen, cpu, after = len(reader.records) - seen, workers.cpu() - cpu, server.counters()
    counted = max(1, seen)
    return {
        "rate": rate(workers, jobs, processes),
        "commands": (after["commands"] - before["commands"] - 1) / counted,
        "round_trips": (after["reads"] - before["reads"] - 1) / counted,
        "worker_cpu_us": cpu / counted * 1e6,
        "redis_cpu_us": (after["cpu"] - before["cpu"]) / counted * 1e6,
        "duplicates": len(reader.records) - len(reader.numbers),
        "complete": complete,
    }


def rate(workers: Workers, jobs: int, processes: int) -> float:
    firsts = workers.reader.firsts()
    if not firsts:
        return 0.0
    origin = firsts[min(processes, len(firsts)) - 1]
    times = sorted(record.when for record in workers.reader.records)[:jobs]
    later = [when for when in times if when > origin]
    return len(later) / ((later[-1] - origin) / 1e9) if later else 0.0


def latency(variant: Variant, server: Server, size: Size, queues: tuple[str, ...]) -> Row:
    """One job each 50 ms for an idle worker: from just before the call to the first line of the job, ms."""
    server.client.flushall()
    with Workers(variant, Setup(queues=queues), server) as workers:
        workers.ready()
        time.sleep(1)
        count = size.pick(200, 40)
        workers.enqueue("paced", count, "noop")
        complete = workers.wait(lambda: len(workers.reader.numbers) >= count, 10)
        waits = sorted((record.when - record.sent) / 1e6 for record in workers.reader.records)
    p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    return {"p50": p50, "p99": p99, "complete": complete}


def scheduled(variant: Variant, server: Server, size: Size) -> Row:
    """Jobs that all come due at one moment for an idle worker: seconds to the first and the last start."""
    server.client.flushall()
    with Workers(variant, Setup(1, slots(variant), scheduler=True), server) as workers:
        workers.ready()
        count = size.jobs(variant.scheduled)
        lead = max(3.0, count / 700)
        client = workers.enqueue("later", count, "noop", lead)
        if client["late"]:
            raise RuntimeError(f"enqueuing {count} jobs took longer than the {lead:.0f} s until they were due")
        complete = workers.wait(lambda: len(workers.reader.numbers) >= count, lead + 120)
        reader = workers.reader
        times = sorted((record.when - client["due_ns"]) / 1e9 for record in reader.records)
    return {
        "count": count,
        "first": times[0],
        "last": times[-1],
        "duplicates": len(times) - len(reader.numbers),
        "complete": complete,
    }


def idle(variant: Variant, server: Server, size: Size) -> Row:
    """What a worker with 10 slots costs while nothing is to do, after a few jobs."""
    server.client.flushall()
    with Workers(variant, Setup(), server) as workers:
        workers.ready()
        time.sleep(size.pick(15, 3))  # past what a worker does once after its start on a server that is new too
        before, cpu, start = server.counters(), workers.cpu(), time.monotonic()
        time.sleep(size.pick(20, 5))
        after, cpu, took = server.counters(), workers.cpu() - cpu, time.monotonic() - start
        resident, proportional = workers.memory("Rss"), workers.memory("Pss")
    return {
        "commands_s": (after["commands"] - before["commands"] - 1) / took,
        "cpu_percent": cpu / took * 100,
        "rss": resident[0],
        "pss": sum(proportional),
        "processes": len(proportional),
    }


def memory(variant: Variant, server: Server, size: Size) -> Row:
    """A million no-op jobs through one worker: by how many MiB its memory grows for 100,000.

    Anonymous memory, so that the growing completion log (a mapped file) does not count. The first 100,000 are
    the worker's warm-up.
    """
    server.client.flushall()
    samples = []
    with Workers(variant, Setup(), server) as workers:
        workers.ready()
        for _ in range(size.pick(10, 3)):
            workers.reader.forget()
            workers.fill(MEMORY_STEP, "noop")
            if not workers.wait(lambda: len(workers.reader.numbers) >= MEMORY_STEP, 120):
                raise RuntimeError(f"only {len(workers.reader.numbers)} of {MEMORY_STEP} jobs ran")
            time.sleep(0.2)
            samples.append(sum(workers.memory("Anonymous")))
    slope = statistics.linear_regression(range(len(samples)), samples).slope
    return {"slope": slope, "first": samples[0], "last": samples[-1], "samples": samples}


def kill(variant: Variant, server: Server, size: Size) -> Row:
    """What is in Redis of 21 jobs of 20 s when their worker is killed: to read, nothing is judged."""
    server.client.flushall()
    with Workers(variant, Setup(1, slots(variant)), server, BENCH_NAP="20") as workers:
        workers.ready()
        workers.enqueue("single", 1, "nap")
        time.sleep(2)
        workers.kill()
        time.sleep(0.3)
        return {"left": left_behind(server.client)}


def left_behind(client: Any) -> str:
    left: collections.Counter[str] = collections.Counter()
    for key in client.keys("*"):
        kind = client.type(key).decode()
        number = getattr(client, SIZES[kind])(key) if kind in SIZES else 1
        left[re.sub(r"[0-9a-f-]{20,}|[0-9]{14,}", "*", key.decode(errors="replace"))] += number
    return ", ".join(f"{key} {number}" for key, number in sorted(left.items()))


SCENARIOS: dict[str, Callable[[Variant, Server, Size], Row]] = {
    "enqueue": enqueue,
    "drain1": lambda variant, server, size: drain(variant, server, size, 1),
    "drain2": lambda variant, server, size: drain(variant, server, size, 2),
    "naps": naps,
    "latency1": lambda variant, server, size: latency(variant, server, size, ("q0",)),
    "latency3": lambda variant, server, size: latency(variant, server, size, ("q0", "q1", "q2")),
    "scheduled": scheduled,
    "idle": idle,
    "far": far,
    "memory": memory,
    "kill": kill,
}
