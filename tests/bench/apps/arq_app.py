# mypy: ignore-errors
import os
from datetime import UTC, datetime
from typing import ClassVar

from arq import create_pool, func
from arq.connections import RedisSettings
from arq.worker import run_worker

from tests.bench.apps import SLOTS, URL
from tests.bench.workload import jobs

settings = RedisSettings.from_dsn(URL)
pool = None


async def noop(ctx, *args):
    await jobs.anoop(*args)


async def nap(ctx, *args):
    await jobs.anap(*args)


class WorkerSettings:
    functions: ClassVar = [func(noop, keep_result=0), func(nap, keep_result=0)]
    redis_settings = settings
    max_jobs = SLOTS
    poll_delay = float(os.environ.get("BENCH_POLL", "0.5"))
    keep_result = 0
    log_results = False


async def startup():
    global pool
    pool = await create_pool(settings)


async def enqueue(kind, args, queue):
    await pool.enqueue_job(kind, *args)


async def enqueue_at(kind, args, when):
    await pool.enqueue_job(kind, *args, _defer_until=datetime.fromtimestamp(when, UTC))


if __name__ == "__main__":
    run_worker(WorkerSettings)
