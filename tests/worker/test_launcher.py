"""Boot, signals, remote commands and end of a worker, inside the test's own process (reference, 24 and 25).

Launchers of real processes are in tests/scenarios.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from cogworker_django.core.worker_options import WorkerOptions
from cogworker_django.process.commands import SIGNALS, Commands
from cogworker_django.process.service import Service
from cogworker_django.store.process_reader import Signal
from cogworker_django.store.server import Server
from cogworker_django.worker import heartbeat
from cogworker_django.worker.launcher import Launcher
from cogworker_django.worker.reporter import Reporter
from tests.stores import jids, open_store, queued
from tests.support import StartServer
from tests.worker.rigs import Rig, Rigs, messages, reaches, until


class Launches:
    """Runs launchers in this thread while another one acts on them."""

    def __init__(self, exits: list[int]) -> None:
        self.exits = exits
        """Statuses of hard exits, which are only noted."""

    def __call__(self, rig: Rig, act: Callable[[], None], **options: object) -> int:
        """Runs a worker of the rig's runtime until it stops by what `act` does, and gives its exit status."""
        config = rig.config
        told = {"concurrency": config.concurrency, "queues": config.queues, "fetch": config.fetch, **options}
        trouble: list[BaseException] = []

        def acting() -> None:
            try:
                # Before it handles them, signals would hit the tests themselves.
                until(lambda: callable(signal.getsignal(signal.SIGTSTP)))
                act()
            except BaseException as error:  # noqa: BLE001 - it fails the test from the main thread
                trouble.append(error)
                kill(signal.SIGTERM)

        commands = Commands()
        commands.listen()
        told_options = WorkerOptions(**told)  # type: ignore[arg-type]  # of several types
        reporter = Reporter(commands, Service({}))
        steps: dict[str, Any] = {"before": lambda: None, "after": lambda: None}
        launched = Launcher(rig.runtime, told_options, (), commands, reporter, **steps)
        actor = threading.Thread(target=acting)
        actor.start()
        try:
            return launched.run()
        finally:
            actor.join()
            if trouble:
                raise trouble[0]


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Launches]:
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)
    monkeypatch.setattr(heartbeat, "FIRST_BEAT_PAUSE", 0.02)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield Launches(exits)
    for number, handler in before.items():
        signal.signal(number, handler)


def kill(number: int) -> None:
    os.kill(os.getpid(), number)


def up(client: redis.Redis) -> str:
    """Waits for the worker's first beat; its identity."""
    until(lambda: client.hkeys("t:beats"))
    [identity] = client.hkeys("t:beats")
    assert isinstance(identity, bytes)
    return identity.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(
    number: signal.Signals, rigs: Rigs, launch: Launches, redis_client: redis.Redis
) -> None:
    """Contract 4: exit 0 after a clean stop, and nothing of it is left."""
    seen = rigs.recording()
    rig = rigs(concurrency=2)

    def act() -> None:
        up(redis_client)
        rig.push("note", 1)
        until(lambda: seen == [1])
        kill(number)

    assert launch(rig, act) == 0
    assert redis_client.hkeys("t:beats") == []
    assert redis_client.keys("t:inprogress:*") == []
    assert launch.exits == []


def test_a_remote_stop_ends_it_like_a_signal(rigs: Rigs, launch: Launches, redis_client: redis.Redis) -> None:
    """Reference E1."""
    rig = rigs()

    def act() -> None:
        rig.store.process_reader.signal(up(redis_client), Signal.STOP)

    began = time.monotonic()
    assert launch(rig, act) == 0
    assert time.monotonic() - began < 5
    assert redis_client.hkeys("t:beats") == []


def test_quiet_by_signal_and_resume_from_afar(rigs: Rigs, launch: Launches, redis_client: redis.Redis) -> None:
    """Reference 24, I4."""
    seen = rigs.recording()
    rig = rigs(fetch_idle_max_interval=0.05)

    def quiet() -> bool:
        [state] = rig.store.process_reader.living()
        return bool(state.info["quiet"])

    def act() -> None:
        identity = up(redis_client)
        until(lambda: rig.store.process_reader.living())
        kill(signal.SIGTSTP)
        until(quiet)
        rig.push("note", 1)
        time.sleep(0.1)
        assert seen == []
        rig.store.process_reader.signal(identity, Signal.RESUME)
        until(lambda: seen == [1])
        until(lambda: not quiet())
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0


def test_ttin_writes_the_stacks_to_the_log_and_work_goes_on(
    rigs: Rigs, launch: Launches, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    seen = rigs.recording()
    rig = rigs()

    def act() -> None:
        up(redis_client)
        kill(signal.SIGTTIN)
        until(lambda: any(line.startswith("thread cogworker-1") for line in messages(caplog)))
        rig.push("note", 1)
        until(lambda: seen == [1])
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0


@pytest.mark.parametrize("command", ["dance", "stop now", "changed", "restart"])
def test_an_unknown_remote_command_is_told_and_ignored(
    rigs: Rigs, launch: Launches, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture, command: str
) -> None:
    """Reference 21, W7; nor are those known from afar that only signals give."""
    rig = rigs()

    def act() -> None:
        redis_client.rpush(f"t:signals:{up(redis_client)}", command)
        until(lambda: f"unknown command {command!r} is ignored" in messages(caplog))
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0


def test_a_stop_gives_running_jobs_their_time(rigs: Rigs, launch: Launches, redis_client: redis.Redis) -> None:
    held = rigs.holding()
    rig = rigs(concurrency=1)

    def act() -> None:
        up(redis_client)
        rig.push("hold")
        reaches(held.runs, 1)
        kill(signal.SIGTERM)
        time.sleep(0.1)
        held.let_go()

    assert launch(rig, act) == 0
    assert rig.counts() == (1, 0)
    assert queued(redis_client) == []
    assert launch.exits == []


@pytest.mark.parametrize("second_int", [False, True])
def test_what_does_not_end_in_time_goes_back_and_the_process_ends_hard(
    second_int: bool, rigs: Rigs, launch: Launches, redis_client: redis.Redis
) -> None:
    """Contract 4: a second INT stops now; reference 13: else after the drain time."""
    held = rigs.holding()
    rig = rigs(concurrency=1, shutdown_timeout=30.0 if second_int else 0.1)
    pushed: list[str] = []

    def act() -> None:
        up(redis_client)
        pushed.append(rig.push("hold"))
        reaches(held.runs, 1)
        kill(signal.SIGINT)
        if second_int:
            time.sleep(0.1)
            kill(signal.SIGINT)

    began = time.monotonic()
    assert launch(rig, act) == 0
    assert time.monotonic() - began < 10
    assert launch.exits == [0]
    assert jids(queued(redis_client)) == pushed


def test_it_waits_for_redis_at_boot(start_server: StartServer, rigs: Rigs, launch: Launches) -> None:
    """W3, reference 24: the first beat comes before the first fetch, however long it takes."""
    seen = rigs.recording()
    server = start_server(persistent=True)
    rig = rigs(url=server.url)
    rig.push("note", 1)
    server.stop()

    def act() -> None:
        time.sleep(0.1)
        server.start()
        until(lambda: seen == [1])
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0


def test_a_stop_while_it_waits_for_redis_starts_nothing(
    start_server: StartServer, rigs: Rigs, launch: Launches, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference E7."""
    server = start_server()
    rig = rigs(url=server.url)
    server.kill()
    caplog.set_level(logging.INFO, logger="cogworker")

    def act() -> None:
        time.sleep(0.1)
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0
    assert "stopped before Redis was there" in messages(caplog, logging.INFO)
    assert not {thread.name for thread in threading.enumerate()} & {"cogworker-1", "cogworker-heartbeat"}


def test_quiet_while_it_waits_for_redis_holds_from_the_start(
    start_server: StartServer, rigs: Rigs, launch: Launches
) -> None:
    """Reference 24."""
    seen = rigs.recording()
    server = start_server(persistent=True)
    rig = rigs(url=server.url)
    rig.push("note", 1)
    server.stop()
    boss = open_store(server.url)

    def act() -> None:
        kill(signal.SIGTSTP)
        time.sleep(0.1)
        server.start()
        until(lambda: [state.info["quiet"] for state in boss.process_reader.living()] == [True])
        assert seen == []
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0
    boss.client.close()


def test_a_drain_ends_by_itself_when_everything_is_done(rigs: Rigs, launch: Launches) -> None:
    """Contract 4, `--drain`."""
    seen = rigs.recording()
    rig = rigs()
    rig.push_many("note", [(n,) for n in range(100)])
    assert launch(rig, lambda: None, drain=True) == 0
    assert sorted(seen) == list(range(100))


def test_an_old_server_means_basic_mode_with_one_warning(
    rigs: Rigs,
    launch: Launches,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Reference R42, R47."""
    monkeypatch.setattr(Server, "supports_reliable", lambda server: False)
    seen = rigs.recording()
    rig = rigs()

    def act() -> None:
        rig.push("note", 1)
        until(lambda: seen == [1])
        [state] = rig.store.process_reader.living()
        assert state.info["fetch"] == "basic"
        assert redis_client.keys("t:inprogress:*") == []
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0
    assert sum("basic mode" in line for line in messages(caplog)) == 1
    assert redis_client.hkeys("t:beats") == []


@pytest.mark.parametrize(("policy", "warned"), [("noeviction", False), ("allkeys-lru", True)])
def test_a_server_that_may_throw_jobs_away_is_warned_of(
    policy: str,
    warned: bool,
    rigs: Rigs,
    launch: Launches,
    redis_client: redis.Redis,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Case B069."""
    redis_client.config_set("maxmemory-policy", policy)

    def act() -> None:
        up(redis_client)
        kill(signal.SIGTERM)

    try:
        assert launch(rigs(), act) == 0
    finally:
        redis_client.config_set("maxmemory-policy", "noeviction")
    assert any(policy in line for line in messages(caplog)) is warned


def test_the_banner_tells_what_runs_where_without_a_password(
    start_server: StartServer, rigs: Rigs, launch: Launches, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference 24."""
    server = start_server("--requirepass", "hush-hush")
    rig = rigs(url=server.url.replace("redis://", "redis://:hush-hush@"), queues=(("high", 3), ("low", 1)))
    caplog.set_level(logging.INFO, logger="cogworker")

    def act() -> None:
        until(lambda: any(" started: " in line for line in messages(caplog, logging.INFO)))
        kill(signal.SIGTERM)

    assert launch(rig, act) == 0
    [banner] = [line for line in messages(caplog, logging.INFO) if " started: " in line]
    assert f"pid {os.getpid()}, 2 threads, queues high (3), low, Redis at redis://127.0.0.1:{server.port}/0" in banner
    assert "hush-hush" not in "".join(messages(caplog, logging.INFO))
