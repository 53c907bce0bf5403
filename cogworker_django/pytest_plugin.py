"""Fixtures for pytest, found by its entry point: a test that names one runs in that mode (Contract 8)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cogworker_django import testing


@pytest.fixture
def cogworker_fake() -> Iterator[None]:
    """Jobs are kept, not written: ``ReportJob.jobs`` tells, ``testing.drain_all()`` performs them."""
    with testing.fake():
        yield


@pytest.fixture
def cogworker_inline() -> Iterator[None]:
    """Jobs are performed at once, where they are pushed."""
    with testing.inline():
        yield
