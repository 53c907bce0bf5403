from __future__ import annotations

import pytest

from cogworker_django.web.charts import Point, bars, ceiling
from cogworker_django.web.wording import apart, duration, machine_time, memory, run_time, site_time


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0, "0 ms"), (0.0004, "0 ms"), (0.85, "850 ms"), (2.44, "2.4 s"), (59.99, "1 m 00 s"), (63, "1 m 03 s")),
        *((7_500, "2 h 05 m"), (86_399.9, "1 d 0 h"), (273_600, "3 d 4 h"), (-5, "0 ms"), (1e9, "11,574 d 1 h")),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(9263.023, "2h 34m 23s 23ms"), (0.045, "45ms"), (0, "0ms"), (3600, "1h"), (60.001, "1m 1ms")],
)
def test_run_times_have_no_leading_zeros(seconds: float, words: str) -> None:
    """Z69."""
    assert run_time(seconds) == words


def test_times_and_memory() -> None:
    assert (apart(60), apart(-2)) == ("in 1 m 00 s", "2.0 s ago")
    assert machine_time(1_782_864_000.9) == "2026-07-01T00:00:00+00:00"
    for odd in (float("nan"), float("inf"), float("-inf"), 1e300, -1e300):
        assert machine_time(odd) and site_time(odd, "%Y-%m-%d")
    assert (memory(126_362), memory(None), memory("x"), memory(True)) == ("123.4M", "n/a", "n/a", "n/a")


@pytest.mark.parametrize(("number", "top"), [(0, 2), (2, 2), (3, 4), (9, 10), (11, 20), (101, 200), (1e6, 1_000_000)])
def test_the_scale_ends_at_a_round_number(number: int, top: int) -> None:
    assert ceiling(number) == top


def test_bars_stand_on_each_other_within_the_drawing() -> None:
    points = [Point(str(n), f"hour {n}", n * 10, n) for n in range(24)]
    chart = bars("c", points, title="t", note="n", good="done", bad="failed", column="Hour")
    for bar in chart.bars:
        lower = float(bar.good_y) + float(bar.good_height)
        assert lower == pytest.approx(156, abs=0.11)
        assert float(bar.bad_y) + float(bar.bad_height) == pytest.approx(float(bar.good_y), abs=0.11)
        assert float(bar.bad_y) >= 0 and float(bar.x) + float(bar.width) <= 720
    assert "2,760 done, 276 failed; the most at hour 23." in chart.gist
    assert len(chart.labels) <= 9 and chart.labels[-1].text == "23"
    assert bars("c", [], title="", note="", good="", bad="", column="").gist == "Nothing has run in this time."
