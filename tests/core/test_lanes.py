from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core.lanes import BANDS, band_of, lane, lane_of, lanes, queue_of


@pytest.mark.parametrize(
    ("priority", "band"),
    [(100, 2), (51, 2), (50, 1), (1, 1), (0, 0), (-1, -1), (-50, -1), (-51, -2), (-100, -2)],
)
def test_priorities_fall_into_bands(priority: int, band: int) -> None:
    assert band_of({"django_task": {"priority": priority}}) == band


@pytest.mark.parametrize("odd", [{}, {"django_task": None}, {"django_task": {}}, {"django_task": {"priority": "9"}}])
def test_what_is_no_priority_is_none(odd: dict[str, Any]) -> None:
    assert band_of(odd) == 0
    assert band_of({"django_task": {"priority": True}}) == 0


def test_the_middle_lane_is_called_like_the_queue() -> None:
    assert lanes("mail") == ["mail|2", "mail|1", "mail", "mail|-1", "mail|-2"]
    assert [queue_of(lane("mail", band)) for band in BANDS] == ["mail"] * 5
    assert lane_of({"django_task": {"priority": 7}}, "mail") == "mail|1"
