"""The enqueuing process, in the peer's environment: client APP MODE COUNT KIND LEAD QUEUES.

MODE is single | bulk | paced (one job each 50 ms) | later (COUNT jobs, all due LEAD seconds from now). Prints
one JSON line. A peer's app module gives enqueue(kind, args, queue), and where the peer has it
enqueue_bulk(kind, list_of_args) and enqueue_at(kind, args, unix_time); all of them, and startup(), may be
coroutines.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import redis

from tests.bench.workload.counters import counters
from tests.bench.workload.jobs import PAYLOAD

# Calls before the clock starts. Their jobs have negative numbers: they show that workers are ready.
WARM = 20
PACE = 0.05
CHUNK = 1_000


class Client:
    """The peer's API, called in one of the four modes."""

    def __init__(self, app: Any, kind: str, lead: float, queues: list[str]) -> None:
        self.app, self.kind, self.lead, self.queues = app, kind, lead, queues
        self.loop = asyncio.new_event_loop()
        if hasattr(app, "startup"):
            self.call(app.startup)

    def call(self, function: Callable[..., Any], *args: object) -> None:
        result = function(*args)
        if inspect.isawaitable(result):
            self.loop.run_until_complete(result)

    def one(self, number: int, sent: int = 0) -> None:
        queue = self.queues[number % len(self.queues)]
        self.call(self.app.enqueue, self.kind, (number, sent, *PAYLOAD), queue)

    def warm(self, mode: str) -> None:
        if mode == "later":
            self.call(self.app.enqueue_at, self.kind, (-1, 0, *PAYLOAD), time.time() + self.lead)
            return
        for number in range(WARM):
            self.one(-1 - number)
        if mode == "paced":
            time.sleep(1)  # the worker is idle again

    def single(self, count: int) -> None:
        enqueue, kind, queue = self.app.enqueue, self.kind, self.queues[0]
        if inspect.iscoroutinefunction(enqueue):
            self.loop.run_until_complete(self.single_async(count))
            return
        for number in range(count):
            enqueue(kind, (number, 0, *PAYLOAD), queue)

    async def single_async(self, count: int) -> None:
        for number in range(count):
            await self.app.enqueue(self.kind, (number, 0, *PAYLOAD), self.queues[0])

    def bulk(self, count: int) -> None:
        for first in range(0, count, CHUNK):
            numbers = range(first, min(first + CHUNK, count))
            self.call(self.app.enqueue_bulk, self.kind, [(number, 0, *PAYLOAD) for number in numbers])

    def paced(self, count: int) -> None:
        start = time.perf_counter()
        for number in range(count):
            time.sleep(max(0.0, start + number * PACE - time.perf_counter()))
            self.one(number, time.monotonic_ns())

    def later(self, count: int) -> None:
        due = time.time() + self.lead
        for number in range(count):
            self.call(self.app.enqueue_at, self.kind, (number, 0, *PAYLOAD), due)


def main() -> None:
    name, mode, count, kind, lead, queues = sys.argv[1:]
    app = importlib.import_module(f"tests.bench.apps.{name}")
    server = redis.Redis.from_url(os.environ["BENCH_REDIS_URL"])
    client = Client(app, kind, float(lead), queues.split(","))
    client.warm(mode)
    due_ns = time.monotonic_ns() + int(float(lead) * 1e9)
    before, cpu, start = counters(server), time.process_time(), time.perf_counter()
    getattr(client, mode)(int(count))
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    after, calls = counters(server), max(1, int(count))
    figures = {
        "rate": calls / took,
        "late": took > float(lead),
        "due_ns": due_ns,
        "commands": (after["commands"] - before["commands"] - 1) / calls,
        "round_trips": (after["reads"] - before["reads"] - 1) / calls,
        "cpu_us": cpu / calls * 1e6,
    }
    print(json.dumps(figures), flush=True)
    os._exit(0)  # no exit handlers of the peer's: the measurement is over


if __name__ == "__main__":
    main()
