"""arq: asyncio, no results kept. A worker serves one queue, which is a sorted set by due time."""

from tests.bench.adapters import DELIVERY, EVERY, Setup, Variant


def commands(setup: Setup) -> list[list[str]]:
    return [["python", "-m", "tests.bench.apps.arq_app"]] * setup.processes


def variant(name: str, poll_delay: str, scenarios: frozenset[str], jobs: int, naps: int) -> Variant:
    return Variant(
        name=name,
        peer="arq",
        app="arq_app",
        commands=commands,
        on_kill="run again after the job timeout (300 s + 10 s)",
        redelivers=True,
        environ=lambda setup: {"BENCH_POLL": poll_delay},
        scenarios=scenarios,
        jobs=jobs,
        naps=naps,
        scheduled=5_000,
    )


# A poll starts at most max_jobs (10) jobs, so the default delay of half a second bounds everything.
VARIANTS = [
    variant("arq", "0.01", EVERY - {"latency3"}, jobs=5_000, naps=5_000),
    variant("arq-default-poll", "0.5", DELIVERY - {"far"}, jobs=1_000, naps=500),
]
