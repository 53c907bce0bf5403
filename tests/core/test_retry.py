from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogworker_django.core.outcome import Fate, Verdict
from cogworker_django.core.retry import (
    DEFAULT_BUDGET,
    JITTER,
    LONG_DELAY,
    NO_HOOK,
    budget,
    decide,
    default_delay,
    exhausted,
)


class Silent:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]  # as numpy arrays are

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("retry", "retries"),
    [
        (False, 0),
        (True, 25),
        (None, 25),
        (0, 0),
        (7, 7),
        (-1, -1),
        (2.0, 2),
        (2.9, 2),
        (math.nan, 0),
        (math.inf, 0),
        ("4", 4),
        ("0", 0),
        ("lots", 0),
        ("", 0),
        ("4.5", 0),
        ("٤", 0),
        ("9" * 5000, 0),
        ({}, 0),
        ([], 0),
    ],
)
def test_the_budget_is_read_from_any_retry_field(retry: object, retries: int) -> None:
    assert budget(retry) == retries


@pytest.mark.parametrize(("retry", "runs"), [(False, 1), (0, 1), (1, 2), (2, 3), (True, 26), (None, 26)])
def test_a_job_runs_once_and_then_as_often_as_its_budget_says(retry: object, runs: int) -> None:
    assert next(count for count in range(100) if exhausted(count, retry)) + 1 == runs


@given(st.integers(1, DEFAULT_BUDGET), st.integers(0, JITTER - 1))
def test_the_default_delay_lies_between_its_bounds(count: int, jitter: int) -> None:
    delay = default_delay(count, jitter)
    assert delay == count**4 + 15 + jitter * (count + 1)
    assert count**4 + 15 <= delay <= count**4 + 15 + 29 * (count + 1)


def test_the_first_retry_comes_after_15_to_75_seconds() -> None:
    delays = [default_delay(1, jitter) for jitter in range(JITTER)]
    assert (min(delays), max(delays)) == (16, 74)


def test_the_default_delay_stays_a_number_however_often_a_job_has_failed() -> None:
    assert math.isfinite(default_delay(10**400, 29))


@given(st.integers(0, 30), st.sampled_from([False, True, None, 0, 1, 5, 25, "3"]), st.integers(0, 29))
def test_without_a_hook_a_job_is_retried_by_default_until_its_budget_is_used_up(
    count: int, retry: object, jitter: int
) -> None:
    verdict = decide(count=count, retry=retry, jitter=jitter)
    if count >= budget(retry):
        assert verdict == Verdict(fate=Fate.DEAD)
    else:
        assert verdict == Verdict(fate=Fate.RETRY, delay=default_delay(count + 1, jitter))


@pytest.mark.parametrize("answer", [0, 0.0, 1, 1.5, 12345, LONG_DELAY])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_hooks_number_is_used_without_jitter(answer: float, count: int) -> None:
    verdict = decide(count=count, retry=True, answer=answer, jitter=17)
    assert verdict == Verdict(fate=Fate.RETRY, delay=float(answer))


def test_none_and_no_hook_mean_the_default_delay_without_a_word() -> None:
    for answer in (None, NO_HOOK):
        assert decide(count=0, retry=True, answer=answer, jitter=3) == Verdict(fate=Fate.RETRY, delay=22.0)


def test_kill_and_discard_are_final() -> None:
    assert decide(count=0, retry=True, answer="kill", jitter=0) == Verdict(fate=Fate.KILLED)
    assert decide(count=0, retry=True, answer="discard", jitter=0) == Verdict(fate=Fate.DISCARDED)


@pytest.mark.parametrize(
    "answer",
    [
        -5,
        -0.1,
        "soon",
        "5",
        "KILL",
        math.nan,
        math.inf,
        -math.inf,
        True,
        False,
        10**400,
        Decimal(5),
        [5],
        Silent(),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_an_odd_answer_means_the_default_delay_and_a_warning(answer: Any) -> None:
    verdict = decide(count=0, retry=True, answer=answer, jitter=3)
    assert verdict.fate is Fate.RETRY
    assert verdict.delay == 22.0
    assert verdict.warning is not None
    assert "default delay" in verdict.warning
    assert len(verdict.warning) < 400


def test_a_delay_over_a_year_is_used_with_a_warning() -> None:
    verdict = decide(count=0, retry=True, answer=LONG_DELAY + 1, jitter=0)
    assert verdict.delay == LONG_DELAY + 1
    assert verdict.warning is not None
    assert "365 days" in verdict.warning


@pytest.mark.parametrize("answer", [5, "kill", "discard", "odd", None])
def test_a_job_out_of_retries_is_dead_whatever_the_answer(answer: object) -> None:
    assert decide(count=1, retry=1, answer=answer, jitter=0) == Verdict(fate=Fate.DEAD)


def test_fates_are_the_outcomes_of_the_attempts_log() -> None:
    assert [str(fate) for fate in Fate] == ["retrying", "dead", "killed", "discarded"]
