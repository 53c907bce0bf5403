"""Fixtures of the model tests."""

from __future__ import annotations

from tests.scenarios.conftest import seeded
from tests.stores import store

__all__ = ["seeded", "store"]
