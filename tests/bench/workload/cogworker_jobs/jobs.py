"""The two jobs, as a user writes them."""

from cogworker_django import job
from tests.bench.workload import jobs

noop = job(queue="q0")(jobs.noop)
nap = job(queue="q0")(jobs.nap)
