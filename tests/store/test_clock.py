from __future__ import annotations

import time

import pytest

from cogworker_django.store.clock import RedisClock


def test_until_it_is_told_otherwise_the_clock_is_the_hosts() -> None:
    assert RedisClock().now() == pytest.approx(time.time(), abs=1)


def test_it_goes_on_from_what_the_server_told_whatever_the_host_thinks() -> None:
    clock = RedisClock()
    clock.tell(1_000_000.0)
    first = clock.now()
    time.sleep(0.01)
    assert 1_000_000.0 <= first < 1_000_001.0
    assert 0.005 < clock.now() - first < 1.0


def test_it_counts_down_to_a_moment_and_past_it() -> None:
    clock = RedisClock()
    clock.tell(500.0)
    assert clock.until(510.0) == pytest.approx(10.0, abs=0.5)
    assert clock.until(490.0) == pytest.approx(-10.0, abs=0.5)
