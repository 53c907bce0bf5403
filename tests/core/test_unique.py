"""What makes two jobs the same (reference 17.1, group Q)."""

from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core.payload import is_reserved
from cogworker_django.core.unique import DIGEST, digest_in, digest_of, sealed


def job(*args: Any, **fields: Any) -> dict[str, Any]:
    return {"class": "a.B", "queue": "q", "args": list(args), "jid": "1", "unique": "until_executed", **fields}


@pytest.mark.parametrize("unique", [None, "", "until_executing", True, 1, ["until_executed"]])
def test_only_the_one_mode_makes_a_job_unique(unique: object) -> None:
    """Reference Q1, Q3, Q9."""
    assert digest_of(job(unique=unique)) is None
    assert digest_of({"class": "a.B", "queue": "q", "args": []}) is None


def test_the_same_job_has_the_same_digest_whatever_else_it_carries() -> None:
    """Reference Q2: ignores jid and times; the order of keys says nothing."""
    first = digest_of(job({"a": 1, "b": [{"x": 1, "y": 2}]}, jid="1", created_at=1.0))
    assert first == digest_of(job({"b": [{"y": 2, "x": 1}], "a": 1}, jid="2", at=5.0, enqueued_at=9.0, retry=3))
    assert first is not None
    assert DIGEST.fullmatch(first)


def test_the_digest_never_changes_between_releases() -> None:
    """Workers of two releases share the locks."""
    assert digest_of(job(1, "é", {"b": None, "a": 1.5}, kwargs={"z": True})) == "9274ee21df309826259d8e374cf1a941"


@pytest.mark.parametrize(
    "other",
    [
        job(1, **{"class": "a.C"}),
        job(1, queue="r"),
        job(2),
        job(1.0),
        job(True),
        job("1"),
        job([1]),
        job(1, 1),
        job(),
        job(kwargs={"x": 1}),
        job(1, kwargs={"x": 1}),
    ],
)
def test_another_class_queue_or_argument_is_another_job(other: dict[str, Any]) -> None:
    """Reference Q7; numbers count as they are written."""
    assert digest_of(other) != digest_of(job(1))


def test_empty_keyword_arguments_are_none() -> None:
    assert digest_of(job(1, kwargs={})) == digest_of(job(1))


def test_the_digest_travels_in_the_job() -> None:
    payload = job(1)
    assert sealed(payload) == payload["unique_digest"] == digest_in(payload)
    assert is_reserved("unique_digest")
    plain = job(1, unique=None)
    assert sealed(plain) is None
    assert "unique_digest" not in plain


@pytest.mark.parametrize("odd", [None, 1, "", "x" * 32, "A" * 32, "0" * 31, "0" * 33, ["0" * 32], "0" * 31 + "\n"])
def test_something_else_in_its_place_is_no_digest(odd: object) -> None:
    assert digest_in({"unique_digest": odd}) is None
