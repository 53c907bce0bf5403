from __future__ import annotations

from collections import Counter

import pytest

from cogworker_django.worker.picks import Picks


def test_one_queue_gets_all_picks() -> None:
    assert Picks([("a", 5)]).draw(7) == [("a", 7)]


@pytest.mark.parametrize("number", [1, 3, 100])
def test_every_queue_is_named_once_and_the_picks_add_up(number: int) -> None:
    """Queues without a pick are named too: what others lack is filled up from them."""
    drawn = Picks([("a", 3), ("b", 1), ("c", 1)]).draw(number)
    assert sorted(name for name, _ in drawn) == ["a", "b", "c"]
    assert sum(count for _, count in drawn) == number


def test_many_picks_are_spread_by_weight() -> None:
    total: Counter[str] = Counter()
    for _ in range(300):
        total.update(dict(Picks([("a", 3), ("b", 1)]).draw(20)))
    assert total["a"] / total["b"] == pytest.approx(3, rel=0.25)


def test_a_queue_is_looked_into_first_as_often_as_its_weight_says() -> None:
    """Reference 8: the chance to be first is proportional to the repeats."""
    picks = Picks([("a", 3), ("b", 1)])
    first = Counter(picks.draw(1)[0][0] for _ in range(2000))
    assert first["a"] / first["b"] == pytest.approx(3, rel=0.3)


def test_the_queue_with_the_most_picks_is_looked_into_first() -> None:
    for _ in range(50):
        counts = [count for _, count in Picks([("a", 1), ("b", 2), ("c", 1)]).draw(5)]
        assert counts == sorted(counts, reverse=True)


def test_no_queue_starves_where_one_job_at_a_time_is_fetched() -> None:
    picks = Picks([("heavy", 50), ("light", 1)])
    assert any(picks.draw(1)[0][0] == "light" for _ in range(1500))
