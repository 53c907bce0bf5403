from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogworker_django.core import codec
from cogworker_django.core.errors import UnreadablePayload

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**4000), max_value=10**4000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


def exact(value: Any) -> Any:
    """A value in a form in which 1, 1.0, True and -0.0 differ."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in value.items()]
    return (type(value), repr(value))


@given(st.dictionaries(TEXT, JSON))
def test_what_is_encoded_comes_back_unchanged_in_type_value_and_order(value: dict[str, Any]) -> None:
    assert exact(codec.decode(codec.encode(value))) == exact(value)


def test_encoding_is_compact_unescaped_and_in_insertion_order() -> None:
    assert codec.encode({"b": [1, 2.5], "a": "é/中"}) == '{"b":[1,2.5],"a":"é/中"}'.encode()


def test_a_nul_survives() -> None:
    assert codec.decode(codec.encode({"a": "x\0y"})) == {"a": "x\0y"}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'{"a":"\xff"}', "not JSON"),
        (b'{"a":"\\ud800"}', "not JSON"),
        (b'{"a":NaN}', "not JSON"),
        (b'{"a":Infinity}', "not JSON"),
        (b'{"a":1e999}', "not JSON"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON"),
        (b"\x80\x04\x95", "not JSON"),
        (b" " * 1_000_000, "not JSON"),
        (b"{} {}", "not JSON"),
        (b"null", "but null"),
        (b"[]", "but an array"),
        (b'"x"', "but a string"),
        (b"1", "but a number"),
        (b"1.5", "but a number"),
        (b"true", "but true or false"),
    ],
)
def test_anything_but_one_json_object_is_refused_with_a_sentence(raw: bytes, why: str) -> None:
    with pytest.raises(UnreadablePayload, match=why):
        codec.decode(raw)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"k":', b"}")])
def test_what_can_be_read_can_be_written_again_with_more_around_it(opening: bytes, closing: bytes) -> None:
    """However deep the interpreter could go: a reader must not accept what its neighbours then stumble over."""

    def nested(levels: int) -> bytes:
        return b'{"a":' + opening * levels + b"1" + closing * levels + b"}"

    deepest = codec.decode(nested(codec.MAX_DEPTH - 1))
    assert codec.encode([{"payload": deepest}])
    for levels in (codec.MAX_DEPTH, 900, 5_000, 9_990):
        with pytest.raises(UnreadablePayload, match=r"more than 500 arrays|not JSON"):
            codec.decode(nested(levels))


def test_wide_is_not_deep() -> None:
    wide: dict[str, Any] = {"a": [[{"b": []}] for _ in range(2_000)]}
    assert codec.decode(codec.encode(wide)) == wide
