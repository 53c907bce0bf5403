"""What is answered about a worker's health."""

from __future__ import annotations

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cogworker_django.process.board import Board
from cogworker_django.process.condition import OUT_OF_TOUCH, STALE, Condition, Phase


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def working(**told: object) -> Condition:
    return Condition(**{"pid": 7, "phase": Phase.WORKING, "identity": "h:7:ab", "concurrency": 3, **told})  # type: ignore[arg-type]  # of several types


def ask(board: Board, path: str) -> tuple[int, dict[str, object]]:
    answer = board.answer(path)
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (working(), ""),
        (working(busy=3, untouched=OUT_OF_TOUCH), ""),
        (working(untouched=OUT_OF_TOUCH + 1), "Redis has not answered for 16 s"),
        (working(silent=STALE + 1), "stuck"),
        (working(phase=Phase.QUIET), "quiet"),
        (working(phase=Phase.STOPPING), "stopping"),
        (Condition(pid=7), "booting"),
    ],
)
def test_ready_is_who_takes_jobs(condition: Condition, reason: str) -> None:
    board = Board()
    board.post(0, condition)
    expected = (503, {"ok": False, "reason": reason}) if reason else (200, {"ok": True})
    assert ask(board, "/readyz") == expected


def test_a_worker_that_has_said_nothing_yet_boots_and_lives() -> None:
    assert ask(Board(), "/readyz") == (503, {"ok": False, "reason": "booting"})
    assert ask(Board(), "/livez") == (200, {"ok": True})


def test_one_process_that_takes_jobs_makes_the_swarm_ready() -> None:
    board = Board()
    board.post(0, working(phase=Phase.QUIET))
    board.post(1, working())
    assert ask(board, "/readyz") == (200, {"ok": True})
    board.drop(1)
    assert ask(board, "/readyz") == (503, {"ok": False, "reason": "quiet"})
    board.stopping = True
    assert ask(board, "/readyz") == (503, {"ok": False, "reason": "stopping"})


def test_alive_does_not_ask_for_redis_but_for_signs_of_the_threads() -> None:
    clock = Clock()
    board = Board(clock)
    board.post(0, working(untouched=10_000.0))
    board.post(2, working(silent=STALE + 1))
    assert ask(board, "/livez") == (503, {"ok": False, "reason": "slots 2 give no sign"})
    board.drop(2)
    assert ask(board, "/livez") == (200, {"ok": True})
    clock.now += STALE + 1
    assert ask(board, "/livez") == (503, {"ok": False, "reason": "slots 0 give no sign"})
    board.post(0, working())
    assert ask(board, "/livez?verbose") == (200, {"ok": True})


def test_a_stuck_process_is_not_ready() -> None:
    clock = Clock()
    board = Board(clock)
    board.post(0, working())
    clock.now += STALE + 1
    assert ask(board, "/readyz") == (503, {"ok": False, "reason": "stuck"})


def test_the_figures_are_those_of_each_process() -> None:
    board = Board()
    board.post(0, working(busy=2, processed=10, failed=1, rss_kb=2048, untouched=0.5))
    board.post(3, working(phase=Phase.QUIET))
    answer = board.answer("/metrics")
    families = text_string_to_metric_families(answer.body.decode())
    read = {(s.name, s.labels["slot"]): s.value for family in families for s in family.samples}
    assert answer.status == 200
    assert answer.kind.startswith("text/plain")
    assert read["cogworker_process_jobs_total", "0"] == 10
    assert read["cogworker_process_failures_total", "0"] == 1
    assert read["cogworker_process_busy_threads", "0"] == 2
    assert read["cogworker_process_threads", "3"] == 3
    assert read["cogworker_process_resident_bytes", "0"] == 2048 * 1024
    assert read["cogworker_process_redis_silence_seconds", "0"] == 0.5
    assert (read["cogworker_process_ready", "0"], read["cogworker_process_ready", "3"]) == (1, 0)


def test_anything_else_is_not_here() -> None:
    answer = Board().answer("/")
    assert answer.status == 404
    assert b"/livez" in answer.body
