# mypy: ignore-errors
import os
from datetime import UTC, datetime

from celery import Celery

from tests.bench.apps import URL
from tests.bench.workload import jobs

app = Celery("bench", broker=URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=os.environ.get("BENCH_LATE") == "1",
    task_reject_on_worker_lost=os.environ.get("BENCH_LATE") == "1",
    worker_prefetch_multiplier=64,
    task_default_queue="q0",
    broker_connection_retry_on_startup=True,
)
TASKS = {"noop": app.task(jobs.noop), "nap": app.task(jobs.nap)}


def enqueue(kind, args, queue):
    TASKS[kind].apply_async(args, queue=queue)


def enqueue_bulk(kind, many):
    with app.producer_or_acquire() as producer, producer.batch(max_size=1000):
        for args in many:
            TASKS[kind].apply_async(args, queue="q0", producer=producer, retry=False)


def enqueue_at(kind, args, when):
    TASKS[kind].apply_async(args, queue="q0", eta=datetime.fromtimestamp(when, UTC))
