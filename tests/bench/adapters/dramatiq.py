"""Dramatiq with its Redis broker, default middleware and default prefetch (2 x threads)."""

from tests.bench.adapters import Setup, Variant


def commands(setup: Setup) -> list[list[str]]:
    start = ["dramatiq", "tests.bench.apps.dramatiq_app", "--processes", str(setup.processes)]
    return [[*start, "--threads", str(setup.slots), "--queues", *setup.queues]]


VARIANTS = [
    Variant(
        name="dramatiq",
        peer="dramatiq",
        app="dramatiq_app",
        commands=commands,
        on_kill="redelivered after the heartbeat timeout (60 s)",
        redelivers=True,
    )
]
