from __future__ import annotations

import time

import pytest

from cogworker_django.worker.buffer import Buffer
from cogworker_django.worker.delivery import Delivery


def delivery(number: int, fetched: float = 0.0) -> Delivery:
    return Delivery(number, "default", b"raw", fetched, False)


def test_jobs_come_out_in_the_order_in_which_they_went_in() -> None:
    buffer = Buffer()
    buffer.extend([delivery(1), delivery(2)])
    buffer.extend([delivery(3)])
    assert [buffer.pop().number for _ in range(3)] == [1, 2, 3]
    with pytest.raises(IndexError):
        buffer.pop()


def test_a_job_put_back_is_the_next_again() -> None:
    buffer = Buffer()
    buffer.extend([delivery(1), delivery(2)])
    buffer.put_back(buffer.pop())
    assert buffer.pop().number == 1


def test_emptying_takes_everything_out_in_order() -> None:
    buffer = Buffer()
    buffer.extend(map(delivery, range(5)))
    assert [each.number for each in buffer.empty()] == list(range(5))
    assert len(buffer) == 0
    assert buffer.empty() == []


def test_it_tells_for_how_long_the_next_job_has_been_waiting() -> None:
    buffer = Buffer()
    assert buffer.oldest_waited(50.0) == 0.0
    buffer.extend([delivery(1, 40.0), delivery(2, 45.0)])
    assert buffer.oldest_waited(50.0) == 10.0


def test_renewed_jobs_count_as_fetched_just_now_and_taken_back_ones_as_old() -> None:
    buffer = Buffer()
    buffer.renew([delivery(1), delivery(2)], time.monotonic())
    assert buffer.oldest_waited(time.monotonic()) < 5
    buffer.take_back(buffer.empty())
    assert buffer.oldest_waited(time.monotonic()) > 1e9
    assert [each.number for each in buffer.empty()] == [1, 2]
