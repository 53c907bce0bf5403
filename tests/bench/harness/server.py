"""A Redis server of our own, on loopback, with nothing on disk."""

import shutil
import subprocess
import tempfile
import time
from typing import Any, Self

import redis

from tests.bench.harness.environments import redis_server
from tests.bench.harness.places import PORT
from tests.bench.workload.counters import counters


class Server:
    """It runs from construction to `close()`."""

    def __init__(self, port: int = PORT) -> None:
        self.port = port
        self.url = f"redis://127.0.0.1:{port}/0"
        self.directory = tempfile.mkdtemp(prefix="bench-redis-")
        argv = [
            redis_server(),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self.process = subprocess.Popen([*argv, "--dir", self.directory, "--logfile", "redis.log"])
        self.client: Any = redis.Redis(port=port)
        if not self.answers():
            self.close()
            raise RuntimeError(f"port {port} is taken or the server did not start: set BENCH_REDIS_PORT")

    def answers(self, seconds: float = 5) -> bool:
        """Whether it is our process that answers on the port."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return bool(self.client.info("server")["process_id"] == self.process.pid)
            except redis.ConnectionError:
                time.sleep(0.05)
        return False

    def counters(self) -> dict[str, float]:
        return counters(self.client)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
