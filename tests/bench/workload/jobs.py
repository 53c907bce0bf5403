"""The jobs, the same for every peer. Arguments: number, when it was enqueued (ns), and a little payload."""

import asyncio
import os
import time

from tests.bench.workload.probe import mark

PAYLOAD = ("alice@example.com", [1, 2, 3])
NAP = float(os.environ.get("BENCH_NAP", "0.010"))


def noop(number: int, sent: int, email: str, items: list[int]) -> None:
    mark(number, sent)


def nap(number: int, sent: int, email: str, items: list[int]) -> None:
    time.sleep(NAP)
    mark(number, sent)


async def anoop(number: int, sent: int, email: str, items: list[int]) -> None:
    mark(number, sent)


async def anap(number: int, sent: int, email: str, items: list[int]) -> None:
    await asyncio.sleep(NAP)
    mark(number, sent)
