# mypy: ignore-errors
import functools
from datetime import UTC, datetime

import django_rq
from rq import Queue

from tests.bench.workload import jobs

FUNCTIONS = {"noop": jobs.noop, "nap": jobs.nap}
get = functools.cache(django_rq.get_queue)


def enqueue(kind, args, queue):
    get(queue).enqueue(FUNCTIONS[kind], args=args, result_ttl=0)


def enqueue_bulk(kind, many):
    get("q0").enqueue_many([Queue.prepare_data(FUNCTIONS[kind], args=args, result_ttl=0) for args in many])


def enqueue_at(kind, args, when):
    get("q0").enqueue_at(datetime.fromtimestamp(when, UTC), FUNCTIONS[kind], args=args, result_ttl=0)
