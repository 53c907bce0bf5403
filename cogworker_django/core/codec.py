"""Payloads to bytes and back: compact JSON, UTF-8, keys in insertion order (Reference 3)."""

from __future__ import annotations

from typing import Any

import msgspec

from cogworker_django.core.errors import UnreadablePayload

# Both are stateless between calls and safe to share among threads.
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()

# encode(value) -> bytes: msgspec is not strict when encoding (NaN becomes null, an int key a string, an enum
# member its value), so it is fed only what `core.arguments.checked` has passed or what was decoded from JSON.
encode = _ENCODER.encode

# Levels of arrays and objects in each other. Whatever can be read must also be writable from anywhere, and JSON near
# the interpreter's own limit is not: it would break whoever has a few more frames on the stack or a list around it.
MAX_DEPTH = 500


def decode(raw: bytes) -> dict[str, Any]:
    """Read one JSON object.

    Args:
        raw: the bytes as they were in Redis.

    Returns:
        The object as a dict with string keys.

    Raises:
        UnreadablePayload: the bytes are anything but one JSON object.
    """
    value = parse(raw)
    if type(value) is not dict:
        raise UnreadablePayload(f"the payload is not a JSON object but {_KINDS[type(value)]}")
    return value


def parse(raw: bytes) -> Any:
    """Read one JSON value of any kind.

    Args:
        raw: the bytes as they were in Redis.

    Raises:
        UnreadablePayload: they are none, or one that could not be written again everywhere.
    """
    try:
        value = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UnreadablePayload(f"the payload is not JSON: {error}") from None
    # Most payloads are too short to be deep, and most others have too few brackets.
    if len(raw) > 2 * MAX_DEPTH and raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise UnreadablePayload(f"the payload has more than {MAX_DEPTH} arrays and objects in each other")
    return value


def _is_deeper(value: Any, most: int) -> bool:
    """Whether arrays and objects lie in each other in more than so many levels; walks level by level."""
    level = [value]
    for _ in range(most):
        items = (item for one in level for item in (one.values() if type(one) is dict else one))
        level = [item for item in items if type(item) is dict or type(item) is list]
        if not level:
            return False
    return True


_KINDS: dict[type, str] = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def pretty(value: Any) -> str:
    """Write a value for people, over several lines.

    Args:
        value: decoded from JSON.
    """
    return msgspec.json.format(encode(value), indent=2).decode()
