"""Huey with RedisHuey, thread and greenlet workers. A consumer serves one queue."""

from tests.bench.adapters import EVERY, Setup, Variant

# The greenlet consumer must be patched before anything else is imported.
PATCHED = "import gevent.monkey as g; g.patch_all(); import huey.bin.huey_consumer as h; h.consumer_main()"


def variant(kind: str) -> Variant:
    def commands(setup: Setup) -> list[list[str]]:
        start = ["python", "-c", PATCHED] if kind == "greenlet" else ["huey_consumer"]
        argv = [*start, "tests.bench.apps.huey_app.huey", "-k", kind, "-w", str(setup.slots), "-n", "-q"]
        return [argv] * setup.processes

    return Variant(
        name=f"huey-{kind}",
        peer="huey",
        app="huey_app",
        commands=commands,
        on_kill="lost (popped before it runs)",
        scenarios=EVERY - {"latency3"},
    )


VARIANTS = [variant("thread"), variant("greenlet")]
