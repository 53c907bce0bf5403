"""This project: threads, reliable fetch; without job status and history, and with both."""

from tests.bench.adapters import EVERY, Setup, Variant


def commands(setup: Setup) -> list[list[str]]:
    argv = ["python", "-m", "django", "cogworker", "-c", str(setup.slots)]
    for queue in setup.queues:
        argv += ["-q", queue]
    return [argv] * setup.processes


def variant(name: str, features: str, scenarios: frozenset[str]) -> Variant:
    return Variant(
        name=name,
        peer="cogworker",
        app="cogworker_app",
        commands=commands,
        on_kill="run again after `ORPHAN_THRESHOLD` (5 min)",
        redelivers=True,
        role="ours",
        environ=lambda setup: {"BENCH_FEATURES": features},
        installed_apps="cogworker_django,tests.bench.workload.cogworker_jobs",
        scenarios=scenarios,
        jobs=150_000,
        bulk=True,
    )


RECORDED = frozenset({"enqueue", "drain1", "drain2", "memory"})
VARIANTS = [variant("cogworker", "none", EVERY | {"memory"}), variant("cogworker-full", "full", RECORDED)]
