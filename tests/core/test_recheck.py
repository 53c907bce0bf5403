from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core.recheck import rechecked

JOB: dict[str, Any] = {"class": "demo.Report", "args": [1], "jid": "j", "queue": "low", "retry": True}


def test_a_payload_with_more_fields_passes_as_a_copy() -> None:
    changed = {**JOB, "kwargs": {"a": (1,)}, "trace": {"id": "x"}}
    copy = rechecked(changed)
    assert copy == {**JOB, "kwargs": {"a": [1]}, "trace": {"id": "x"}}
    changed["trace"]["id"] = "y"
    assert copy["trace"] == {"id": "x"}


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"args": [{1}]}, TypeError, r"args\[0\]: set"),
        ({"args": "text"}, ValueError, "args"),
        ({"kwargs": {"a": float("nan")}}, ValueError, r'kwargs\["a"\]: nan'),
        ({"trace": object()}, TypeError, "trace: object"),
        ({5: 1}, TypeError, "key 5 is not a string"),
        ({"queue": "two words"}, ValueError, "queue name"),
        ({"queue": None}, ValueError, "queue"),
        ({"jid": "a\n"}, ValueError, "jid"),
        ({"class": "a\n"}, ValueError, "job name"),
        ({"retry": "5"}, TypeError, "retry"),
        ({"unique": True}, ValueError, "unique"),
    ],
)
def test_a_payload_that_middleware_has_broken_is_refused(
    change: dict[Any, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        rechecked({**JOB, **change})


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(ValueError, match="has no args"):
        rechecked({key: value for key, value in JOB.items() if key != "args"})
