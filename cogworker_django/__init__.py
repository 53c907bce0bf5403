"""Redis-backed background jobs for Django: the map of the package.

A job's way: `definition` (``Job``, ``@job``) -> `pusher` and `client` (check, client middleware, encode) ->
`store` (one script call) -> Redis -> `worker` (fetch, run, decide, settle).

Rooms, lowest first; nothing imports upward:

- `core`: what a job is and the rules about it, pure.
- `store`: every Redis command, key and Lua script.
- `features`: what rides on the middleware chains; `client`: the one way into Redis for new jobs.
- `runtime`: the parts of one process, built once. `pusher`, `definition`: what users' code meets.
- `process`: what a worker is to its system: signals, log, health. `swarm`: the parent of several worker processes.
- `worker`: the process that runs jobs; `api`: reading and steering from outside a worker.
- `web`: the pages. Beside it the Django edge: `apps`, `conf`, `checks`, `boot`, `management` and their like.

Features that span rooms: reliable fetch = store/trips, worker/exchange, store/recovery, worker/rescuer.
"""

from cogworker_django.api.attempts import attempts_of
from cogworker_django.api.cancelling import cancel
from cogworker_django.api.history import History
from cogworker_django.api.intake import Intake
from cogworker_django.api.jobsets import DeadSet, RetrySet, ScheduledSet
from cogworker_django.api.periodic_set import PeriodicSet
from cogworker_django.api.processes import ProcessSet, WorkSet
from cogworker_django.api.queue import Queue, QueueSet
from cogworker_django.api.stats import Stats, Throughput
from cogworker_django.api.status import Status
from cogworker_django.core.errors import (
    CogworkerError,
    ConfigurationError,
    JobCancelled,
    JobFailedError,
    JobTimeout,
    LockHeld,
    ProcessDied,
    RedisRefused,
    RedisUnavailable,
    UnknownJob,
    UnreadablePayload,
)
from cogworker_django.core.version import VERSION as __version__
from cogworker_django.current import current_job
from cogworker_django.definition import Job, job
from cogworker_django.pusher import Client
from cogworker_django.schedule import periodic

__all__ = [
    "Client",
    "CogworkerError",
    "ConfigurationError",
    "DeadSet",
    "History",
    "Intake",
    "Job",
    "JobCancelled",
    "JobFailedError",
    "JobTimeout",
    "LockHeld",
    "PeriodicSet",
    "ProcessDied",
    "ProcessSet",
    "Queue",
    "QueueSet",
    "RedisRefused",
    "RedisUnavailable",
    "RetrySet",
    "ScheduledSet",
    "Stats",
    "Status",
    "Throughput",
    "UnknownJob",
    "UnreadablePayload",
    "WorkSet",
    "__version__",
    "attempts_of",
    "cancel",
    "current_job",
    "job",
    "periodic",
]
