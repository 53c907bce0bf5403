# mypy: ignore-errors
"""The least a reliable worker must do (see adapters/bare.py). No retries, no heartbeat, no scheduler.

One script call acknowledges everything finished and fetches more. Whichever thread finds the buffer low makes
that call for all. It asks for a job per waiting thread, plus what the threads will finish during a round
trip. An idle worker waits at a bell, a short list that clients push to along with the job.
"""

import collections
import json
import math
import os
import threading
import time
import uuid

import orjson
import redis

from tests.bench.apps import QUEUES, SLOTS, URL
from tests.bench.workload import jobs

if os.environ.get("BENCH_JSON") == "orjson":
    loads, dumps = orjson.loads, orjson.dumps
else:
    loads, encode = json.loads, json.JSONEncoder(separators=(",", ":")).encode

    def dumps(body):
        return encode(body).encode()


FUNCTIONS = {"noop": jobs.noop, "nap": jobs.nap}
MOST = 100
ID = 16
EXCHANGE = """
if #ARGV > 1 then redis.call('HDEL', KEYS[1], unpack(ARGV, 2)) end
local left, out, hand = tonumber(ARGV[1]), {}, {}
for i = 2, #KEYS do
  if left < 1 then break end
  local jobs = redis.call('LPOP', KEYS[i], left)
  if jobs then
    left = left - #jobs
    for _, job in ipairs(jobs) do
      out[#out + 1] = job
      hand[#hand + 1] = string.sub(job, 1, 16)
      hand[#hand + 1] = job
    end
  end
end
if #hand > 0 then redis.call('HSET', KEYS[1], unpack(hand)) end
return out
"""
client = redis.Redis.from_url(URL)


def pack(kind, args, queue):
    now, jid = time.time(), uuid.uuid4().hex
    body = {"class": kind, "args": args, "queue": queue, "jid": jid, "retry": True}
    body |= {"created_at": now, "enqueued_at": now}
    return jid[:ID].encode() + dumps(body)


def push(queue, packed):
    pipe = client.pipeline(transaction=False)
    pipe.rpush(f"queue:{queue}", *packed)
    pipe.lpush("bell", 1)
    pipe.ltrim("bell", 0, SLOTS)
    pipe.execute()


def enqueue(kind, args, queue):
    push(queue, [pack(kind, args, queue)])


def enqueue_bulk(kind, many):
    push("q0", [pack(kind, args, "q0") for args in many])


class Worker:
    def __init__(self):
        self.keys = [f"hand:{os.getpid()}", *(f"queue:{name}" for name in QUEUES)]
        self.sha = client.script_load(EXCHANGE)
        self.buffer, self.done = collections.deque(), collections.deque()
        self.lock = threading.Lock()
        self.waiting = 0
        self.ahead = 1
        self.job_time = self.trip_time = 0.001

    def exchange(self, wait):
        """Called with the lock held."""
        acks = []
        try:
            while True:
                acks.append(self.done.popleft())
        except IndexError:
            pass
        self.ahead = min(MOST, math.ceil(SLOTS * self.trip_time / self.job_time))
        wanted = max(1, 1 + self.waiting + 2 * self.ahead - len(self.buffer))
        self.waiting = 0
        start = time.perf_counter()
        fetched = client.evalsha(self.sha, len(self.keys), *self.keys, wanted, *acks)
        self.trip_time += (time.perf_counter() - start - self.trip_time) / 8
        self.buffer.extend(fetched)
        if not fetched and wait and not self.done:
            client.blpop("bell", 2)

    def run(self):
        buffer = self.buffer
        while True:
            if len(buffer) < self.ahead:
                dry = not buffer
                self.waiting += dry
                if self.lock.acquire(blocking=dry):
                    try:
                        if len(buffer) < self.ahead:
                            self.exchange(wait=not buffer)
                    finally:
                        self.lock.release()
            try:
                job = buffer.popleft()
            except IndexError:
                continue
            start = time.perf_counter()
            body = loads(job[ID:])
            FUNCTIONS[body["class"]](*body["args"])
            self.done.append(job[:ID])
            self.job_time += (time.perf_counter() - start - self.job_time) / 32


if __name__ == "__main__":
    worker = Worker()
    threads = [threading.Thread(target=worker.run) for _ in range(SLOTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
