"""Celery: prefork and threads pools; early acknowledgement (its default) and late."""

from collections.abc import Callable

from tests.bench.adapters import DELIVERY, EVERY, Setup, Variant

QUIET = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING"]


def commands(pool: str) -> Callable[[Setup], list[list[str]]]:
    def build(setup: Setup) -> list[list[str]]:
        # A prefork worker is one parent with N children; threads are N separate workers.
        if pool == "prefork":
            workers, size = 1, setup.slots if setup.slots > 1 else setup.processes
        else:
            workers, size = setup.processes, setup.slots
        start = ["celery", "-A", "tests.bench.apps.celery_app", "worker", "-P", pool, "-c", str(size)]
        return [[*start, "-n", f"w{number}@bench", "-Q", ",".join(setup.queues), *QUIET] for number in range(workers)]

    return build


def variant(pool: str, late: bool, scenarios: frozenset[str]) -> Variant:
    kept, lost = "redelivered after the visibility timeout (1 h)", "lost (acknowledged before it runs)"
    return Variant(
        name=f"celery-{pool}-{'late' if late else 'early'}",
        peer="celery",
        app="celery_app",
        commands=commands(pool),
        on_kill=kept if late else lost,
        redelivers=late,
        environ=lambda setup: {"BENCH_LATE": "1" if late else "0"},
        scenarios=scenarios,
        jobs=10_000,
        bulk=True,
        process_pool=pool == "prefork",
    )


VARIANTS = [
    variant("prefork", True, EVERY),
    variant("prefork", False, DELIVERY),
    # Scheduled jobs are held in the worker by the same code in all pools: measured once.
    variant("threads", True, EVERY - {"scheduled"}),
    variant("threads", False, DELIVERY),
]
