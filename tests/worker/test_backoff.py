from __future__ import annotations

from cogworker_django.worker.backoff import FIRST, MOST, Backoff


def test_the_wait_doubles_up_to_its_most_and_is_shortened_by_up_to_a_half() -> None:
    backoff = Backoff()
    expected = FIRST
    for _ in range(12):
        assert expected / 2 <= backoff.failed() <= expected
        expected = min(MOST, expected * 2)
    assert expected == MOST


def test_a_success_starts_it_over() -> None:
    backoff = Backoff()
    for _ in range(8):
        backoff.failed()
    backoff.succeeded()
    assert backoff.failed() <= FIRST


def test_two_processes_do_not_wait_in_step() -> None:
    assert len({Backoff().failed() for _ in range(20)}) > 1
