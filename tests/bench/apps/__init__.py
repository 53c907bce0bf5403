"""The peers' side: each module imports its peer, and runs only in that peer's environment.

They are not type-checked: the peers are not installed where the checker runs.
"""

import os

import django

django.setup()

URL = os.environ["BENCH_REDIS_URL"]
QUEUES = os.environ.get("BENCH_QUEUES", "q0").split(",")
SLOTS = int(os.environ.get("BENCH_SLOTS", "10"))
