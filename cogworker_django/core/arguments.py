"""The walk over arguments: only what JSON carries unchanged gets into a payload (Contract 2).

The walk also copies, so that what the caller does with the lists and dicts afterwards does not reach the job.
"""

from __future__ import annotations

import math
from typing import Any

from cogworker_django.core.text import described, one_line

# Levels of lists and dicts in each other. Far above real arguments, far below what makes a JSON reader or
# copy.deepcopy hit the interpreter's recursion limit somewhere else later.
MAX_DEPTH = 200
# Integers beyond 2**MAX_INTEGER_BITS have more digits than Python reads back from text by default (4 300).
MAX_INTEGER_BITS = 14_000

# Steps of a place that an error shows.
SHOWN_STEPS = 12

_SMALL = 1 << 63
_PLAIN = frozenset({type(None), bool})
_CONTAINERS = frozenset({list, dict})


class _Refused(Exception):
    """A value that JSON cannot carry. Levels add their step on the way up: a good walk builds no paths."""

    def __init__(self, kind: type[TypeError] | type[ValueError], reason: str) -> None:
        super().__init__()
        self.kind = kind
        self.reason = reason
        self.steps: list[str] = []


def checked(value: object, place: str) -> Any:
    """Check one value and copy it.

    Args:
        value: None, bool, int, finite float, str, and lists, tuples and dicts of these with str keys: of
            exactly these types, no subclass, since a subclass would not come back as itself.
        place: what to call the value in an error, for example ``args[0]``.

    Returns:
        A copy that shares no list or dict with ``value``; tuples have become lists.

    Raises:
        TypeError: a value or key of another type; the message names its place, as ``args[0]["x"]``.
        ValueError: a value of the right type that JSON cannot carry (NaN, an infinity, a lone surrogate, an
            integer of thousands of digits, a container within itself or too deep).
    """
    refused: _Refused
    try:
        return _copied(value, MAX_DEPTH)
    except _Refused as error:
        refused = error
    except RecursionError:
        refused = _too_deep()
    steps = refused.steps[: -SHOWN_STEPS - 1 : -1]
    path = "".join(steps) + ("…" if len(refused.steps) > SHOWN_STEPS else "")
    raise refused.kind(f"{place}{path}: {refused.reason}")


def duplicate(value: Any) -> Any:
    """Copy a value that came from JSON, with everything in it; several times faster than ``copy.deepcopy``.

    Args:
        value: None, bool, number, str, or list or dict of these.
    """
    kind = type(value)
    if kind is list:
        return [duplicate(item) if type(item) in _CONTAINERS else item for item in value]
    if kind is dict:
        return {key: duplicate(item) if type(item) in _CONTAINERS else item for key, item in value.items()}
    return value


def _copied(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        if value.isascii() or _encodable(value):
            return value
        raise _Refused(ValueError, "the string has a lone surrogate, which UTF-8 cannot carry")
    if kind is int:
        if -_SMALL < value < _SMALL or value.bit_length() <= MAX_INTEGER_BITS:
            return value
        raise _Refused(ValueError, "the integer has too many digits to travel as JSON; pass it as text")
    if kind in _PLAIN:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise _Refused(ValueError, f"{value} is not a number that JSON knows")
    if kind is dict:
        return _copied_dict(value, depth)
    if kind is list or kind is tuple:
        return _copied_list(value, depth)
    raise _Refused(TypeError, f"{_type_name(kind)} is not a JSON type; pass {_advice(kind)}")


def _copied_list(values: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
    if not depth:
        raise _too_deep()
    copy: list[Any] = []
    try:
        for value in values:
            copy.append(_copied(value, depth - 1))
    except _Refused as refused:
        refused.steps.append(f"[{len(copy)}]")
        raise
    return copy


def _copied_dict(values: dict[Any, Any], depth: int) -> dict[str, Any]:
    if not depth:
        raise _too_deep()
    copy: dict[str, Any] = {}
    for key, value in values.items():
        if type(key) is not str:
            reason = f"the key {described(key)} is not a string but {_type_name(type(key))}"
            raise _Refused(TypeError, reason)
        if not (key.isascii() or _encodable(key)):
            raise _Refused(ValueError, f"the key {described(key)} has a lone surrogate")
        try:
            copy[key] = _copied(value, depth - 1)
        except _Refused as refused:
            refused.steps.append(f'["{one_line(key, 60)}"]')
            raise
    return copy


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_deep() -> _Refused:
    return _Refused(ValueError, f"a list or dict contains itself, or more than {MAX_DEPTH} others in each other")


def _type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _advice(kind: type) -> str:
    base = next((plain for plain in (str, int, float, dict, list, tuple) if issubclass(kind, plain)), None)
    if base is not None:
        return f"a plain {base.__name__}"
    return "its id or text instead, or a list or dict of such values"
