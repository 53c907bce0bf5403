"""No products: the marks to aim at, in the environment of a bare client.

bare*: the least that a reliable worker with threads must do, with json and with orjson (apps/bare_app.py).
floor-*: one bare LPUSH a job, and the bare pick-up of a job by an idle worker (apps/floor_app.py).
"""

from tests.bench.adapters import DELIVERY, EVERY, Setup, Variant


def bare(name: str, json: str, scenarios: frozenset[str]) -> Variant:
    def commands(setup: Setup) -> list[list[str]]:
        return [["python", "-m", "tests.bench.apps.bare_app"]] * setup.processes

    return Variant(
        name=name,
        peer="bare",
        app="bare_app",
        commands=commands,
        on_kill="still in the hash of jobs in hand of its process",
        role="yardstick",
        environ=lambda setup: {"BENCH_JSON": json},
        scenarios=scenarios,
        jobs=150_000,  # it needs that many to last a second
        bulk=True,
    )


def floor(name: str, push: str, scenarios: frozenset[str]) -> Variant:
    def commands(setup: Setup) -> list[list[str]]:
        return [["python", "-m", "tests.bench.apps.floor_app"]] * setup.processes

    return Variant(
        name=name,
        peer="bare",
        app="floor_app",
        commands=commands,
        on_kill="-",
        role="yardstick",
        environ=lambda setup: {"BENCH_PUSH": push},
        scenarios=scenarios,
    )


VARIANTS = [
    bare("bare", "json", EVERY - {"scheduled"}),
    bare("bare-orjson", "orjson", DELIVERY | {"enqueue"}),
    floor("floor-lpush", "lpush", frozenset({"enqueue"})),
    floor("floor-bell", "bell", frozenset({"latency1", "latency3"})),
]
