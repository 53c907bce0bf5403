# mypy: ignore-errors
from datetime import datetime

from huey import RedisHuey

from tests.bench.apps import URL
from tests.bench.workload import jobs

huey = RedisHuey("q0", url=URL, results=False, utc=False)
TASKS = {"noop": huey.task()(jobs.noop), "nap": huey.task()(jobs.nap)}


def enqueue(kind, args, queue):
    TASKS[kind](*args)


def enqueue_at(kind, args, when):
    huey.add_schedule(TASKS[kind].s(*args, eta=datetime.fromtimestamp(when)))
