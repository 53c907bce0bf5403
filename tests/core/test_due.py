"""When a job is due after middleware had it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cogworker_django.core.due import Due, due_after


@pytest.mark.parametrize("due", [None, Due(5.0, 1000.0)])
def test_without_a_time_it_is_due_at_once(due: Due | None) -> None:
    for payload in ({"jid": "j", "at": None}, {"jid": "j"}):
        assert due_after(payload, due) is None
        assert payload == {"jid": "j"}


def test_a_time_that_is_left_as_it_was_stays_what_the_caller_gave() -> None:
    """A delay is still one, on Redis's clock."""
    due = Due(5.0, 1000.0)
    payload: dict[str, Any] = {"at": 1000.0}
    assert due_after(payload, due) is due
    assert payload == {"at": 1000.0}


@pytest.mark.parametrize("due", [None, Due(5.0, 1000.0), Due(None, 1000.0)])
def test_a_time_that_middleware_has_set_counts(due: Due | None) -> None:
    assert due_after({"at": 2000}, due) == Due(None, 2000.0)
    assert due_after({"at": datetime(2026, 1, 1, tzinfo=UTC)}, due) == Due(None, 1_767_225_600.0)


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="the time must be"):
        due_after({"at": "soon"}, None)
    with pytest.raises(ValueError, match="no time zone"):
        due_after({"at": datetime(2026, 1, 1)}, None)
