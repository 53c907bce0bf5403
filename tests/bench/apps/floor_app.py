# mypy: ignore-errors
"""What the machine allows a client of redis-py, with nothing of a job system around it.

Enqueue: one LPUSH of bytes that are ready, as long as a job of ours. Pick-up: an idle worker blocks at a
bell, a short list that the client rings along with its push, and takes the job with one script.
"""

import json
import os
import sys

import redis

from tests.bench.apps import QUEUES, URL
from tests.bench.workload import jobs

TAKE = """
for i = 2, #KEYS do
  local job = redis.call('RPOP', KEYS[i])
  if job then
    redis.call('HSET', KEYS[1], job, 1)
    return job
  end
end
"""
READY = b"x" * 240
client = redis.Redis.from_url(URL)


def push(kind, args, queue):
    client.lpush(f"queue:{queue}", READY)


def ring(kind, args, queue):
    pipe = client.pipeline(transaction=False)
    pipe.lpush(f"queue:{queue}", json.dumps(args))
    pipe.lpush("bell", 1)
    pipe.execute()


enqueue = push if os.environ["BENCH_PUSH"] == "lpush" else ring


def serve():
    keys = ["hand", *(f"queue:{name}" for name in QUEUES)]
    sha = client.script_load(TAKE)
    while True:
        if client.blpop("bell", 2):
            jobs.noop(*json.loads(client.evalsha(sha, len(keys), *keys)))


if __name__ == "__main__":
    sys.exit(serve())
