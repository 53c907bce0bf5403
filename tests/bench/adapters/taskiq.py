"""taskiq with taskiq-redis and uvloop: ListQueueBroker (no acknowledgement) and RedisStreamBroker."""

from tests.bench.adapters import EVERY, Setup, Variant


def commands(setup: Setup) -> list[list[str]]:
    start = ["taskiq", "worker", "tests.bench.apps.taskiq_app:broker", "--workers", str(setup.processes)]
    return [[*start, "--max-async-tasks", str(setup.slots), "--log-level", "WARNING"]]


def variant(broker: str, on_kill: str, redelivers: bool, scenarios: frozenset[str]) -> Variant:
    return Variant(
        name=f"taskiq-{broker}",
        peer="taskiq",
        app="taskiq_app",
        commands=commands,
        on_kill=on_kill,
        redelivers=redelivers,
        environ=lambda setup: {"BENCH_BROKER": broker},
        scenarios=scenarios,
    )


# Scheduled jobs need a separate scheduler process: not measured.
VARIANTS = [
    variant("list", "lost (popped before it runs)", False, EVERY - {"latency3", "scheduled"}),
    variant("stream", "claimed by another worker after idle_timeout (10 min)", True, EVERY - {"scheduled"}),
]
