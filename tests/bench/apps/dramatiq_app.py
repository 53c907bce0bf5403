# mypy: ignore-errors
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from tests.bench.apps import QUEUES, URL
from tests.bench.workload import jobs

broker = RedisBroker(url=URL)
dramatiq.set_broker(broker)
ACTORS = {
    (kind, queue): dramatiq.actor(function, actor_name=f"{kind}.{queue}", queue_name=queue)
    for kind, function in (("noop", jobs.noop), ("nap", jobs.nap))
    for queue in QUEUES
}


def enqueue(kind, args, queue):
    ACTORS[kind, queue].send(*args)


def enqueue_at(kind, args, when):
    ACTORS[kind, "q0"].send_with_options(args=args, delay=max(0, int((when - time.time()) * 1000)))
