# mypy: ignore-errors
import functools

from tests.bench.workload.cogworker_jobs import jobs

JOBS = {"noop": jobs.noop, "nap": jobs.nap}


@functools.cache
def elsewhere(kind, queue):
    return JOBS[kind].set(queue=queue)


def enqueue(kind, args, queue):
    target = JOBS[kind] if queue == "q0" else elsewhere(kind, queue)
    target.perform_async(*args)


def enqueue_bulk(kind, many):
    JOBS[kind].perform_bulk(many)


def enqueue_at(kind, args, when):
    JOBS[kind].perform_at(when, *args)
