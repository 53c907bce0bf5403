"""The health of a running worker and of a running swarm, asked over HTTP; and what a service manager hears."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from cogworker_django.embedded import free_port
from tests.scenarios import jobs
from tests.scenarios.rig import Rig
from tests.scenarios.swarm import Swarm
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow


class Health:
    """Asks on one port."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"

    def ask(self, path: str) -> tuple[int, bytes]:
        """Ask; the status (0 when nobody answers) and the body."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=3)) as wire:
            try:
                wire.request("GET", path)
                response = wire.getresponse()
                return response.status, response.read()
            except OSError:
                return 0, b""

    def says(self, path: str, status: int, reason: str = "") -> None:
        """Wait until it is answered so."""

        def right() -> bool:
            code, body = self.ask(path)
            return code == status and (not reason or json.loads(body)["reason"] == reason)

        eventually(right, 10, f"{path} to be {status} {reason}", lambda: self.ask(path))


@pytest.fixture
def health() -> Health:
    return Health()


FLAGS = [pytest.param((), id="one"), pytest.param(("--processes", "2"), id="swarm")]


@pytest.mark.parametrize("flags", FLAGS)
def test_a_worker_is_ready_when_it_takes_jobs(rig: Rig, health: Health, flags: tuple[str, ...]) -> None:
    rig.server.kill()
    worker = rig.worker("--health", health.address, *flags, wait=False)
    health.says("/readyz", 503, "booting")
    assert health.ask("/livez")[0] == 200, "it needs no Redis"
    rig.server.start()
    health.says("/readyz", 200)
    worker.send(signal.SIGTSTP)
    health.says("/readyz", 503, "quiet")
    assert health.ask("/livez")[0] == 200
    assert worker.terminate() == 0


@pytest.mark.parametrize("flags", FLAGS)
def test_a_stop_is_told_and_not_held_up_by_those_who_ask(rig: Rig, health: Health, flags: tuple[str, ...]) -> None:
    worker = rig.worker("--health", health.address, *flags)
    health.says("/readyz", 200)
    rig.until_running(rig.push_one(jobs.nap, 1.0))
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            silent = stack.enter_context(socket.create_connection(("127.0.0.1", health.port), 5))
            silent.sendall(b"GET /liv")
        worker.send(signal.SIGTERM)
        health.says("/readyz", 503, "stopping")
        began = time.monotonic()
        assert worker.exit_status(8) == 0
        assert time.monotonic() - began < 3
    rig.verify()


def test_the_figures_of_a_swarm_are_those_of_its_processes(rig: Rig, health: Health) -> None:
    swarm = Swarm(rig, 2, "-c", "3", "--health", health.address).complete()
    rig.push(jobs.nap, [(0.01,)] * 30)
    rig.push_one(jobs.fail_after, 0.0)
    rig.until_done()

    def sums(name: str) -> float:
        lines = health.ask("/metrics")[1].decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{"))

    eventually(lambda: sums("cogworker_process_jobs_total") == 31, 5, "31 jobs", lambda: health.ask("/metrics"))
    assert sums("cogworker_process_failures_total") == 1
    assert sums("cogworker_process_threads") == 6
    assert sums("cogworker_process_ready") == 2
    rig.stop(swarm.parent)


@pytest.mark.parametrize("flags", FLAGS)
def test_a_service_manager_hears_when_it_works_that_it_lives_and_when_it_stops(
    rig: Rig, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """systemd's Type=notify and WatchdogSec."""
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        manager.bind(str(path))
        manager.settimeout(10)
        speakers: set[int] = set()

        def hear() -> bytes:
            word, sender, _, _ = manager.recvmsg(100, 200)
            speakers.add(struct.unpack("3i", sender[0][2])[0])
            return word

        told: dict[str, Any] = {"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "2000000"}
        rig.server.kill()
        worker = rig.worker(*flags, wait=False, environ=told)
        assert [hear() for _ in range(2)] == [b"WATCHDOG=1"] * 2, "it lives while it waits for Redis"
        rig.server.start()
        heard = [b""]
        while heard[-1] != b"READY=1":
            heard.append(hear())
        assert [hear() for _ in range(3)] == [b"WATCHDOG=1"] * 3
        worker.send(signal.SIGTERM)
        while heard[-1] != b"STOPPING=1":
            heard.append(hear())
        assert worker.exit_status() == 0
        manager.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                heard.append(hear())
    assert heard.count(b"READY=1") == heard.count(b"STOPPING=1") == 1
    assert speakers == {worker.pid}, "no child of a swarm speaks for all of it"


def test_an_address_that_nobody_knows_is_one_sentence(rig: Rig) -> None:
    worker = rig.worker("--health", "nowhere.invalid:8080", wait=False)
    assert worker.exit_status(20) == 1
    assert worker.text.startswith("--health: nobody can listen on nowhere.invalid:8080: ")
    assert "Unknown error" not in worker.text
    assert worker.text.count("\n") == 1
