from __future__ import annotations

import pickle

import pytest

import cogworker_django
from cogworker_django.core import errors


def test_a_configuration_error_shows_one_problem_a_line() -> None:
    error = errors.ConfigurationError(["A: wrong.", "B: wrong too."])
    assert error.problems == ("A: wrong.", "B: wrong too.")
    assert str(error) == "A: wrong.\nB: wrong too."


def test_a_configuration_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.ConfigurationError(["A: wrong."])))
    assert error.problems == ("A: wrong.",)


def test_a_held_lock_tells_both_jobs_and_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.LockHeld("mine", "other")))
    assert (error.jid, error.holder) == error.args == ("mine", "other")
    assert str(error) == "Job mine is unique, and job other with the same arguments waits or runs."


@pytest.mark.parametrize(
    "name",
    [
        "ConfigurationError",
        "JobFailedError",
        "LockHeld",
        "ProcessDied",
        "RedisRefused",
        "RedisUnavailable",
        "UnknownJob",
        "UnreadablePayload",
    ],
)
def test_every_error_has_one_root_and_is_offered_at_the_top(name: str) -> None:
    error = getattr(cogworker_django, name)
    assert error is getattr(errors, name)
    assert issubclass(error, cogworker_django.CogworkerError)


def test_an_unreadable_payload_is_a_value_error_too() -> None:
    assert issubclass(errors.UnreadablePayload, ValueError)
