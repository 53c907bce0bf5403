from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.payload import (
    encoded,
    failed,
    failures,
    interrupted,
    is_reserved,
    orphaned,
    read,
    unreadable,
)

JOB = {"class": "demo.jobs.Report", "args": [1], "jid": "a" * 24, "queue": "low", "retry": 5, "created_at": 1.5}


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in JOB.items() if key != field}


def test_a_job_is_read_as_it_was_written() -> None:
    job = {**JOB, "kwargs": {"kind": "pdf"}, "team": "a"}
    assert read(codec.encode(job)) == job


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "class"),
        ({**JOB, "class": 5}, "class"),
        ({**JOB, "class": ""}, "class"),
        (without("jid"), "jid"),
        ({**JOB, "jid": None}, "jid"),
        (without("queue"), "queue"),
        ({**JOB, "queue": None}, "queue"),
        (without("args"), "args"),
        ({**JOB, "args": "text"}, "args"),
        ({**JOB, "args": {}}, "args"),
        ({**JOB, "kwargs": []}, "kwargs"),
        ({**JOB, "kwargs": None}, "kwargs"),
    ],
)
def test_an_object_that_is_no_job_is_refused_naming_the_field(payload: dict[str, Any], field: str) -> None:
    with pytest.raises(UnreadablePayload, match=field):
        read(codec.encode(payload))


@pytest.mark.parametrize("raw", [b"", b"not json", b"[1]", b"\xff" * 200_000, "é".encode() * 200_000])
def test_bytes_that_are_no_job_are_wrapped_with_their_error(raw: bytes) -> None:
    with pytest.raises(UnreadablePayload) as caught:
        read(raw)
    wrapper = unreadable(raw, "low", caught.value, 5.0)
    assert read(codec.encode(wrapper)) == wrapper
    raw_payload = wrapper.pop("raw_payload")
    assert raw_payload == raw.decode("utf-8", "replace")[:100_000]
    assert len(wrapper.pop("jid")) == 24
    assert wrapper == {
        "class": "(unparseable)",
        "args": [],
        "queue": "low",
        "retry": False,
        "retry_count": 0,
        "enqueued_at": 5.0,
        "failed_at": 5.0,
        "error_class": "UnreadablePayload",
        "error_message": str(caught.value),
    }


def test_each_failure_counts_and_the_first_time_is_kept() -> None:
    first = failed(JOB, "KeyError", "'a'", 10.0)
    assert first == {
        **JOB,
        "error_class": "KeyError",
        "error_message": "'a'",
        "failed_at": 10.0,
        "first_failed_at": 10.0,
        "retry_count": 1,
    }
    second = failed(first, "ValueError", "b", 20.0)
    assert (second["retry_count"], second["failed_at"], second["first_failed_at"]) == (2, 20.0, 10.0)
    assert (second["error_class"], second["error_message"]) == ("ValueError", "b")
    assert "error_class" not in JOB


@pytest.mark.parametrize("count", [None, "3", -1, True, 2.0, []])
def test_a_count_that_no_worker_wrote_is_none_at_all(count: object) -> None:
    assert failures({"retry_count": count}) == 0
    assert failures({}) == 0
    assert failures({"retry_count": 3}) == 3


def test_an_interruption_counts_as_failure_and_for_itself() -> None:
    first = interrupted(JOB, KeyError("a"), 10.0)
    second = interrupted(first, ValueError("b"), 20.0)
    assert (first["retry_count"], first["interrupted_count"]) == (1, 1)
    assert (second["retry_count"], second["interrupted_count"]) == (2, 2)
    assert (second["error_class"], second["error_message"], second["failed_at"]) == ("ValueError", "b", 20.0)


def test_an_orphan_names_the_death_of_its_process_and_counts_no_failure() -> None:
    entry = orphaned({**JOB, "retry_count": 2}, 3, 10.0)
    assert entry["error_class"] == "ProcessDied"
    assert "more than 3 times" in entry["error_message"]
    assert (entry["failed_at"], entry["first_failed_at"], entry["retry_count"]) == (10.0, 10.0, 2)
    assert "more than once" in orphaned(JOB, 1, 10.0)["error_message"]
    assert orphaned(JOB, 0, 10.0)["error_message"] == "its process died while running it"


def test_fields_of_ours_are_reserved_and_options_are_not() -> None:
    assert all(is_reserved(field) for field in ("jid", "args", "first_failed_at", "periodic_slot"))
    assert not any(is_reserved(field) for field in ("queue", "retry", "unique", "team"))


def test_a_payload_over_the_limit_is_refused_with_size_limit_and_setting() -> None:
    size = len(codec.encode(JOB))
    assert encoded(JOB, size) == codec.encode(JOB)
    with pytest.raises(ValueError, match=rf"{size} bytes, over the limit of {size - 1} .*MAX_PAYLOAD_BYTES"):
        encoded(JOB, size - 1)


def test_the_first_failure_is_kept_from_whatever_an_entry_tells_of_it() -> None:
    assert failed({**JOB, "failed_at": 3.0}, "E", "", 10.0)["first_failed_at"] == 3.0
    assert failed({**JOB, "failed_at": 3.0, "first_failed_at": 2.0}, "E", "", 10.0)["first_failed_at"] == 2.0
    assert orphaned({**JOB, "failed_at": 3.0, "first_failed_at": 2.0}, 3, 10.0)["first_failed_at"] == 2.0


def test_interruptions_are_counted_apart_from_failures() -> None:
    entry = interrupted({**JOB, "retry_count": 7, "interrupted_count": 1}, KeyError(), 1.0)
    assert (entry["retry_count"], entry["interrupted_count"]) == (8, 2)


def test_one_failure_counts_as_one() -> None:
    assert failures({"retry_count": 1}) == 1


def test_a_count_of_any_size_can_be_counted_on_and_written_again() -> None:
    """Else a failure of such a job could never be recorded, and its process would hold it for ever."""
    assert failures({"retry_count": 10**15}) == 10**15
    largest = codec.decode(b'{"retry_count":' + b"9" * 4300 + b"}")["retry_count"]
    entry = interrupted({**JOB, "retry_count": largest, "interrupted_count": largest}, KeyError(), 1.0)
    assert (entry["retry_count"], entry["interrupted_count"]) == (10**15 + 1, 10**15 + 1)
    assert codec.decode(codec.encode(entry)) == entry
