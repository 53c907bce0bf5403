"""The memory of what has run. Nothing here needs Redis."""

from __future__ import annotations

import pytest

from cogworker_django.store.settlement import Settlement
from cogworker_django.worker import hold
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.hold import Hold
from tests.worker.rigs import messages


def fetched(*numbers: int) -> list[Delivery]:
    return [Delivery(number, "q", b"raw", 0.0, False) for number in numbers]


def verdict(number: int) -> Settlement:
    return Settlement(token=f"{number}:q", jid=f"j{number}", kind="failed")


def filled(done: int, verdicts: int) -> Hold:
    """A hold in which jobs 1… have succeeded and jobs 1001… have a verdict."""
    held = Hold()
    held.add(fetched(*range(1, done + 1), *range(1001, 1001 + verdicts)))
    held.done.extend(f"{number}:q" for number in range(1, done + 1))
    held.verdicts.extend(verdict(number) for number in range(1001, 1001 + verdicts))
    return held


def test_a_trip_takes_what_has_finished_in_order_and_not_more_than_it_may() -> None:
    held = filled(hold.DONE_PER_TRIP + 5, hold.VERDICTS_PER_TRIP + 5)
    done, verdicts = held.take()
    assert done == [f"{number}:q" for number in range(1, hold.DONE_PER_TRIP + 1)]
    assert [each.jid for each in verdicts] == [f"j{number}" for number in range(1001, 1001 + hold.VERDICTS_PER_TRIP)]
    assert held.finished == 10


def test_what_a_failed_trip_took_goes_back_where_it_was_before_what_came_since() -> None:
    """Reference P25: the order of the verdicts is kept."""
    held = filled(3, 3)
    done, verdicts = held.take()
    held.done.append("9:q")
    held.verdicts.append(verdict(1009))
    held.restore(done, verdicts)
    assert list(held.done) == ["1:q", "2:q", "3:q", "9:q"]
    assert [each.jid for each in held.verdicts] == ["j1001", "j1002", "j1003", "j1009"]


def test_settled_jobs_are_forgotten_and_their_hooks_handed_out() -> None:
    held = filled(1, 0)
    told: list[str] = []
    dead = Settlement(token="2:q", jid="j2", kind="failed", settled=lambda: told.append("j2"))
    held.add(fetched(2, 3))
    chores = held.settled(["1:q"], [dead, verdict(3)], ["settled", "settled"])
    assert held.jobs == {}
    [chore] = chores
    chore()
    assert told == ["j2"]


def test_a_job_that_was_taken_over_is_forgotten_without_its_hooks(caplog: pytest.LogCaptureFixture) -> None:
    """Guarantee 4."""
    held = Hold()
    held.add(fetched(1))
    late = Settlement(token="1:q", jid="j1", kind="failed", settled=lambda: None)
    assert held.settled([], [late], ["gone"]) == []
    assert held.jobs == {}
    assert "jid=j1 is no longer this process's" in messages(caplog)[0]


def test_a_refused_verdict_is_kept_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """Reference P25, R26."""
    held = Hold()
    held.add(fetched(1, 2))
    refused, settled = verdict(1), verdict(2)
    held.settled([], [refused, settled], ["WRONGTYPE Operation\nagainst", "settled"])
    assert list(held.jobs) == ["1:q"]
    assert held.refused == [refused]
    assert held.finished == 0
    assert "the end of jid=j1 could not be written and will be tried again" in messages(caplog)[0]
    assert "\n" not in messages(caplog)[0]
    held.retry_refused()
    assert list(held.verdicts) == [refused]
    assert held.refused == []


def test_it_knows_what_must_never_run_again() -> None:
    held = filled(2, 1)
    held.add(fetched(7))
    held.refused.append(verdict(8))
    assert held.waiting() == {"1:q", "2:q", "1001:q", "8:q"}
