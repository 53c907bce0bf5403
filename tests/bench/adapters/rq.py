"""RQ through django-rq. Worker (the default) forks a process per job, SimpleWorker does not."""

from collections.abc import Callable

from tests.bench.adapters import DELIVERY, EVERY, Setup, Variant


def commands(worker_class: str) -> Callable[[Setup], list[list[str]]]:
    def build(setup: Setup) -> list[list[str]]:
        argv = ["django-admin", "rqworker", *setup.queues, "--worker-class", worker_class, "-v", "0"]
        if setup.scheduler:
            argv.append("--with-scheduler")
        return [argv] * setup.processes

    return build


def variant(name: str, peer: str, worker: str, scenarios: frozenset[str], jobs: int, naps: int) -> Variant:
    return Variant(
        name=name,
        peer=peer,
        app="rq_app",
        commands=commands(f"rq.worker.{worker}"),
        on_kill="not run again: moved to the failed registry",
        installed_apps="django_rq",
        scenarios=scenarios,
        jobs=jobs,
        naps=naps,
        scheduled=jobs,
        bulk=True,
        forks=worker == "Worker",
    )


VARIANTS = [
    variant("rq", "rq", "Worker", EVERY, jobs=400, naps=200),
    variant("rq-simple", "rq", "SimpleWorker", EVERY, jobs=3_000, naps=500),
    variant("rq2-simple", "rq2", "SimpleWorker", DELIVERY, jobs=3_000, naps=500),
]
