"""Values as the framework accepts them, made into what JSON gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plain(value: Any) -> Any:
    """Convert what the framework takes for JSON: mappings, sequences, UTF-8 bytes, and subclasses of plain types.

    Args:
        value: anything; what is no JSON stays as it is, for the check of arguments, which names its place.
    """
    try:
        return _plain(value)
    except RecursionError:
        return value


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(each) for key, each in value.items()}
    # As the framework has it: a set is no sequence, and neither is a memoryview of anything but bytes.
    return [_plain(each) for each in value] if isinstance(value, Sequence) else value


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
