from __future__ import annotations

import io

import pytest

from cogworker_django.management.output import printable


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", "ü \U0001f600"), ("ascii", "\\xfc \\U0001f600"), ("latin-1", "ü \\U0001f600")],
)
def test_what_the_stream_cannot_show_is_escaped(encoding: str, expected: str) -> None:
    assert printable("ü \U0001f600", io.TextIOWrapper(io.BytesIO(), encoding=encoding)) == expected


def test_a_stream_without_encoding_takes_everything_that_can_be_encoded() -> None:
    assert printable("ü \ud800", io.StringIO()) == "ü \\ud800"
