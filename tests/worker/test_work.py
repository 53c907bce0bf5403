"""What a process publishes about what it runs. Nothing here needs Redis."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, cast

import pytest

from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.processor import Processor
from cogworker_django.worker.work import LARGE, Work
from tests.stores import raw_job


@dataclass
class Busy:
    """A processor that runs something, or nothing."""

    name: str
    delivery: Delivery | None = None
    since: float = 0.0


def work(*processors: Busy) -> Work:
    return Work(cast("list[Processor]", processors))


def running(raw: bytes, name: str = "cogworker-1", since: float = 50.0) -> Busy:
    return Busy(name, Delivery(1, "low", raw, 0.0, False), since)


def published(*processors: Busy) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(work(*processors).published() or "[]")
    return found


def test_nothing_is_published_while_nothing_runs() -> None:
    assert work(Busy("cogworker-1")).published() is None
    assert (work(Busy("cogworker-1")).busy, work(Busy("cogworker-1")).oldest()) == (0, 0.0)


def test_each_running_job_is_a_row_with_its_thread_queue_and_start() -> None:
    raw = raw_job("a" * 24, "low", args=[1, {"x": 2}])
    first, second = published(running(raw), Busy("cogworker-2"), running(raw, "cogworker-3", 60.5))
    assert first == {"thread": "cogworker-1", "queue": "low", "run_at": 50.0, "payload": json.loads(raw)}
    assert (second["thread"], second["run_at"]) == ("cogworker-3", 60.5)


def test_it_tells_for_how_long_the_longest_has_been_running() -> None:
    now = time.time()
    assert work(running(b"", since=now - 5), running(b"", since=now - 9)).oldest() == pytest.approx(9, abs=1)


def test_a_large_job_is_published_without_its_arguments() -> None:
    """Beats stay small whatever runs."""
    [row] = published(running(raw_job("a" * 24, args=["x" * LARGE], kwargs={"y": 1})))
    assert (row["payload"]["jid"], row["payload"]["args"], row["payload"]["args_omitted"]) == ("a" * 24, [], True)
    assert "kwargs" not in row["payload"]


def test_bytes_that_are_no_job_are_shown_as_a_row_without_one() -> None:
    assert published(running(b"\x80 not json"))[0]["payload"] == {}
