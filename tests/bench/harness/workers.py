"""The worker processes of one variant, its client, and what they cost."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.bench.adapters import Setup, Variant
from tests.bench.harness.environments import binary
from tests.bench.harness.places import ROOT
from tests.bench.harness.records import Reader
from tests.bench.harness.server import Server
from tests.bench.workload.client import WARM

TICKS = os.sysconf("SC_CLK_TCK")
SHARED_MEMORY = "/dev/shm"


def members(session: int) -> dict[int, list[str]]:
    """The live processes of a session of ours, with their fields of /proc/<pid>/stat from the third on."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found[int(name)] = fields
    return found


class Workers:
    """Started by `start()`, killed at the end of the block; the client can enqueue before and after."""

    def __init__(self, variant: Variant, setup: Setup, server: Server, **environ: str) -> None:
        shared = SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else None
        self.directory = Path(tempfile.mkdtemp(prefix="bench-", dir=shared))
        (self.directory / "probe").mkdir()
        self.reader = Reader(self.directory / "probe")
        self.variant, self.setup = variant, setup
        self.environ = self.common(server) | variant.environ(setup)
        self.worker_environ = self.environ | environ
        self.processes: list[subprocess.Popen[bytes]] = []
        self.log = open(self.directory / "log", "w+")  # noqa: SIM115 (closed at the end of the block)

    def common(self, server: Server) -> dict[str, str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return environ | {
            "PATH": f"{binary(self.variant.peer, 'python').parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "tests.bench.workload.settings",
            "BENCH_REDIS_URL": server.url,
            "BENCH_PROBE_DIR": str(self.directory / "probe"),
            "BENCH_PROBE": "append" if self.variant.forks else "mmap",
            "BENCH_QUEUES": ",".join(self.setup.queues),
            "BENCH_SLOTS": str(self.setup.slots),
            "BENCH_APPS": self.variant.installed_apps,
        }

    def start(self, prefix: tuple[str, ...] = ()) -> None:
        """`prefix` goes in front of each command line."""
        for command, *arguments in self.variant.commands(self.setup):
            process = subprocess.Popen(
                [*prefix, str(binary(self.variant.peer, command)), *arguments],
                cwd=ROOT,
                env=self.worker_environ,
                stdout=self.log,
                stderr=self.log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.processes.append(process)

    def enqueue(self, mode: str, count: int, kind: str, lead: float = 0.0) -> dict[str, Any]:
        """Run the client (workload/client.py) and return its figures."""
        argv = [
            str(binary(self.variant.peer, "python")),
            "-m",
            "tests.bench.workload.client",
            self.variant.app,
        ]
        argv += [mode, str(count), kind, str(lead), ",".join(self.setup.queues)]
        done = subprocess.run(argv, cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise RuntimeError(f"the client failed\n{done.stderr[-2000:]}")
        figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return figures

    def fill(self, count: int, kind: str) -> None:
        """Enqueue by the quickest way the peer has."""
        self.enqueue("bulk" if self.variant.bulk else "single", count, kind)

    def ready(self, seconds: float = 30) -> None:
        """Start, and wait until a worker has run a few jobs."""
        self.start()
        self.enqueue("single", 0, "noop")
        if not self.wait(lambda: len(self.reader.warm) >= WARM, seconds):
            raise RuntimeError(f"no job ran within {seconds} s\n{self.tail()}")

    def wait(self, condition: Callable[[], bool], seconds: float, every: float = 0.02) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            self.reader.poll()
            if condition():
                return True
            if time.monotonic() > deadline:
                return False
            if all(process.poll() is not None for process in self.processes):
                raise RuntimeError(f"the workers ended\n{self.tail()}")
            time.sleep(every)

    def tail(self) -> str:
        self.log.flush()
        return (self.directory / "log").read_text(errors="replace")[-2000:]

    def alive(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for process in self.processes:
            found |= members(process.pid)
        return found

    def cpu(self) -> float:
        """CPU seconds of the tree, with the children that it has waited for."""
        return sum(int(field) for fields in self.alive().values() for field in fields[11:15]) / TICKS

    def memory(self, field: str) -> list[float]:
        """MiB of each process, largest first; `field` is one of /proc/<pid>/smaps_rollup."""
        sizes = []
        for pid in self.alive():
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            sizes += [int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:")]
        return sorted(sizes, reverse=True)

    def kill(self) -> None:
        for pid in self.alive():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self.processes:
            process.poll()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for _ in range(20):
            if not self.alive():
                break
            self.kill()
            time.sleep(0.05)
        for process in self.processes:
            process.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
