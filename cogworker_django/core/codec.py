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


def decode(raw: bytes) -> dict[str, Any]:
    """Read one JSON object.

    Args:
        raw: the bytes as they were in Redis.

    Returns:
        The object as a dict with string keys.

    Raises:
        UnreadablePayload: the bytes are anything but one JSON object.
    """
    try:
        value = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UnreadablePayload(f"the payload is not JSON: {error}") from None
    if type(value) is not dict:
        raise UnreadablePayload(f"the payload is not a JSON object but {_KINDS[type(value)]}")
    return value


_KINDS: dict[type, str] = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
