"""Jobs of the scenarios: each writes into the ledger what it does."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cogworker_django import current_job, job
from tests.scenarios.ledger import recorded

logger = logging.getLogger("cogworker")


@job(name="nap")
def nap(seconds: float = 0.0, _pushed: float = 0.0) -> None:
    """Take a while."""
    with recorded():
        time.sleep(seconds)


@job(name="wait_for")
def wait_for(path: str, _text: str = "") -> None:
    """Run until a file is there."""
    with recorded():
        while not Path(path).exists():
            time.sleep(0.01)


@job(name="touch")
def touch(path: str) -> None:
    """Leave a mark that is cheap to look for."""
    with recorded():
        Path(path).touch()


@job(name="tick")
def tick(path: str) -> None:
    """Note which slot of which entry this is the job of."""
    running = current_job()
    assert running is not None
    with recorded():
        words = (running.payload["periodic_name"].replace(" ", ""), running.payload["periodic_slot"], running.jid)
        with Path(path).open("a", encoding="ascii") as file:
            print(*words, file=file)


@job(name="fail_after")
def fail_after(seconds: float) -> None:
    """Take a while and fail."""
    with recorded():
        time.sleep(seconds)
        raise ValueError("it was bound to fail")


@job(name="fail_with")
def fail_with(length: int, _text: str) -> None:
    """Fail with a text of this length."""
    with recorded():
        raise ValueError("!" * length)


@job(name="drop")
def drop() -> None:
    """Fail, and want no more of it."""
    with recorded():
        raise ValueError("of no use any more")


@drop.retry_in
def drop_it(_count: int) -> str:
    """Discard the job."""
    return "discard"


@job(name="exit_process")
def exit_process(fuse: float = 0.05) -> None:
    """Take the whole process along, without a word."""
    with recorded():
        time.sleep(fuse)
        os._exit(7)


@job(name="abort_process")
def abort_process(fuse: float = 0.05) -> None:
    """Crash as a broken C extension does."""
    with recorded():
        time.sleep(fuse)
        os.abort()


@job(name="kill_process")
def kill_process(fuse: float = 0.05) -> None:
    """Be what the system's memory killer chooses."""
    with recorded():
        time.sleep(fuse)
        os.kill(os.getpid(), signal.SIGKILL)


@job(name="balloon")
def balloon() -> None:
    """Take memory until there is no more of it, or a gibibyte."""
    with recorded():
        blocks = [bytes(2**20) for _ in range(2**10)]
        raise AssertionError(f"{len(blocks)} MiB were there")


@job(name="leave")
def leave() -> None:
    """Call sys.exit, as scripts do that were made a job."""
    with recorded():
        sys.exit(1)


@job(name="swallow")
def swallow(_text: str) -> None:
    """Be large, and quick."""
    with recorded():
        pass


@job(name="nothing")
def nothing() -> None:
    """Do nothing, and write nothing down."""


@job(name="übung.größe")
def tell(*texts: Any) -> list[Any]:
    """Log what it was given and return it."""
    with recorded():
        running = current_job()
        logger.info("told %s by %s", texts, running and running.cogworker_name)
        return list(texts)


@job(name="fail_large")
def fail_large(depth: int = 5) -> None:
    """Fail deep inside, with something large in every frame."""
    ballast = bytes(100_000)
    if depth:
        fail_large(depth - 1)
    raise ValueError(f"{len(ballast)} bytes in vain")


@job(name="fork")
def fork(way: str) -> None:
    """Fork as careless code does: the child leaves by the way that the parent came."""
    child = os.fork()
    if child == 0:
        time.sleep(0.05)
        if way == "raise":
            raise ValueError("in the child")
        if way == "exit":
            sys.exit(0)
        return
    with recorded():
        os.waitpid(child, 0)


def square(number: int) -> int:
    """Be what a pool is asked for."""
    return number * number


@job(name="use_pool")
def use_pool() -> None:
    """Have a pool of forks compute, and end it as it ends itself: by TERM."""
    with recorded():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            squares = pool.map(square, range(3))
        pool.join()
        assert squares == [0, 1, 4]


@job(name="chain")
def chain(left: int) -> None:
    """Push the next one."""
    with recorded():
        if left:
            chain.perform_async(left - 1)


@job(name="say")
def say(text: str, seconds: float) -> None:
    """Write to both outputs as scripts do, without flushing, and take a while."""
    with recorded():
        sys.stdout.write(f"{text} out")
        sys.stderr.write(f"{text} err")
        time.sleep(seconds)


@job(name="call_program")
def call_program(*command: str) -> None:
    """Run another program to its end."""
    with recorded():
        subprocess.run(command, check=True)


@job(name="leave_orphan")
def leave_orphan() -> None:
    """Start a program that outlives the one that has started it, as daemons are started."""
    with recorded():
        subprocess.run(["sh", "-c", "sleep 0.1 &"], check=True)


@job(name="hoard")
def hoard(mebibytes: int) -> None:
    """Keep memory for as long as the process lives."""
    with recorded():
        _HOARD.append(os.urandom(2**20) * mebibytes)


_HOARD: list[bytes] = []
