# mypy: ignore-errors
import os

from taskiq_redis import ListQueueBroker, RedisStreamBroker

from tests.bench.apps import QUEUES, URL
from tests.bench.workload import jobs

if os.environ.get("BENCH_BROKER") == "stream":
    broker = RedisStreamBroker(URL, queue_name="q0", additional_streams=dict.fromkeys(QUEUES[1:], ">"))
else:
    # redis-py 8 gives every socket a timeout of 5 s, on which this broker's endless BRPOP dies.
    broker = ListQueueBroker(URL, queue_name="q0", socket_timeout=None)
TASKS = {"noop": broker.task(jobs.anoop), "nap": broker.task(jobs.anap)}


async def startup():
    await broker.startup()


async def enqueue(kind, args, queue):
    if queue == "q0":
        await TASKS[kind].kiq(*args)
    else:
        await TASKS[kind].kicker().with_labels(queue_name=queue).kiq(*args)
