"""Patterns for `MATCH`."""

from __future__ import annotations

SPECIAL = frozenset("*?[]\\^-")


def literal(text: str) -> str:
    """Return the pattern that matches only this text."""
    return "".join(f"\\{letter}" if letter in SPECIAL else letter for letter in text)
