from __future__ import annotations

import gc
import os
import threading
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogworker_django.core import codec
from cogworker_django.core.text import (
    BACKTRACE_LINE_LIMIT,
    BACKTRACE_LINES,
    CLASS_LIMIT,
    LABEL_LIMIT,
    MESSAGE_LIMIT,
    backtrace,
    described,
    error_class,
    error_message,
    job_label,
    one_line,
    scrub,
)


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Odd(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # what the test is about


class Needy(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(first, second)


class Holder(Exception):
    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


class Shout(str):
    def __str__(self) -> str:
        raise ValueError

    def __getitem__(self, index: Any) -> str:
        raise ValueError


class Unspeakable:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


class Secretive(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            raise SystemExit
        return super().__getattribute__(name)


class Masked(Exception, metaclass=Secretive):
    pass


def local_error() -> Exception:
    class Local(Exception):
        pass

    return Local("from within")


def cycle() -> Exception:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - exits too
        return caught


ERRORS = [
    ValueError("plain"),
    ValueError(),
    KeyError("key"),
    SystemExit(1),
    KeyboardInterrupt(),
    Needy(1, 2),
    Holder(),
    local_error(),
    cycle(),
    Mute(),
    Odd(),
    ExceptionGroup("three", [ValueError("a"), KeyError("b"), ExceptionGroup("more", [Mute()])]),
    ValueError("\ud800\0\x1b[31m\r\n" + os.fsdecode(b"\xff\xfe")),
    ValueError("x" * 1_000_000),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
]


@given(st.text() | st.binary(), st.integers(0, 50))
def test_scrubbed_text_can_always_be_encoded_and_is_within_the_limit(text: str | bytes, limit: int) -> None:
    clean = scrub(text, limit)
    assert type(clean) is str
    assert len(clean) <= limit
    assert codec.decode(codec.encode({"text": clean})) == {"text": clean}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_valid_text_is_left_alone_as_string_and_as_bytes(text: str) -> None:
    assert scrub(text, 10_000) == text
    assert scrub(text.encode(), 10_000) == text


def test_what_is_no_utf8_becomes_the_replacement_character() -> None:
    assert scrub(b"a\xff\xfeb", 10) == "a\ufffd\ufffdb"
    assert scrub("a\ud800b" + os.fsdecode(b"\xff"), 10) == "a\ufffdb\ufffd"


def test_a_subclass_of_str_is_read_without_its_own_methods() -> None:
    assert scrub(Shout("text"), 3) == "tex"


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_error_has_class_message_and_backtrace_that_can_be_stored(error: BaseException) -> None:
    caught = raised(error)
    stored = {"c": error_class(caught), "m": error_message(caught), "b": backtrace(caught)}
    assert stored["c"] == type(error).__name__
    assert len(stored["m"]) <= MESSAGE_LIMIT
    assert 1 <= len(stored["b"]) <= BACKTRACE_LINES
    assert all(len(line) <= BACKTRACE_LINE_LIMIT for line in stored["b"])
    assert codec.decode(codec.encode(stored)) == stored


def test_a_message_that_raises_or_is_no_text_is_replaced_by_the_class() -> None:
    assert error_message(Mute()) == "#<Mute>"
    assert error_message(Odd()) == "#<Odd>"


def test_a_message_keeps_nul_and_line_ends() -> None:
    assert error_message(ValueError("a\0b\r\nc")) == "a\0b\r\nc"


def test_a_class_without_a_name_has_one_nevertheless() -> None:
    assert error_class(type("", (Exception,), {})()) == "Exception"


def test_a_class_that_keeps_its_name_to_itself_can_be_stored() -> None:
    error = Masked("but not its message")
    assert error_class(error) == "Exception"
    assert error_message(error) == "but not its message"
    assert backtrace(error) == ["Exception: but not its message"]


def test_a_backtrace_names_file_function_causes_and_members() -> None:
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        lines = backtrace(error)
    text = "\n".join(lines)
    assert "test_text.py" in text
    assert "in test_a_backtrace_names_file" in text
    assert text.index("KeyError: 'inner'") < text.index("ValueError: outer")
    group = "\n".join(backtrace(ExceptionGroup("three", [ValueError("a"), KeyError("b")])))
    assert "ValueError: a" in group
    assert "KeyError: 'b'" in group


def test_a_long_chain_of_causes_is_cut_and_its_end_is_kept() -> None:
    error: Exception = ValueError("0")
    for number in range(1, 2000):
        following = ValueError(str(number))
        following.__cause__ = error
        error = following
    lines = backtrace(error)
    assert len(lines) == BACKTRACE_LINES
    assert lines[-1] == "ValueError: 1999"


def test_endless_recursion_has_a_short_backtrace() -> None:
    def again() -> None:
        again()

    with pytest.raises(RecursionError) as caught:
        again()
    assert len(backtrace(caught.value)) <= BACKTRACE_LINES


def test_no_frame_of_the_error_is_kept_alive() -> None:
    class Big:
        pass

    def fails() -> weakref.ref[Big]:
        big = Big()
        try:
            raise ValueError("with a frame")
        except ValueError as error:
            stored.append((error_class(error), error_message(error), backtrace(error)))
        return weakref.ref(big)

    stored: list[object] = []
    kept = fails()
    gc.collect()
    assert stored
    assert kept() is None


def test_a_log_line_is_one_line_without_control_or_reordering_characters() -> None:
    shown = one_line("a\r\nb\x1b[31m\0\x7f\x85\u2028\u202ec\ud800 中é\U0001f600")
    assert shown == r"a\r\nb\x1b[31m\x00\x7f\x85\u2028\u202ec\ud800 中é" + "\U0001f600"
    assert shown.isprintable()


@given(st.text())
def test_a_log_line_can_always_be_written_and_never_breaks(text: str) -> None:
    shown = one_line(text, 1000)
    assert len(shown.splitlines()) <= 1
    assert shown.encode().decode() == shown


def test_a_long_text_is_cut_for_the_log() -> None:
    assert one_line("x" * 500, 200) == "x" * 200 + "…"
    assert one_line("x" * 200, 200) == "x" * 200


def test_any_value_can_be_described() -> None:
    assert described("a\nb") == r"'a\nb'"
    assert described("x" * 500, 5) == "'xxxx…"
    told = described(Unspeakable())  # outside the assertion, which would show it too
    assert told == "something that cannot be shown"


def test_a_jobs_label_is_one_short_printable_line() -> None:
    assert job_label("demo.Job", "0f") == "demo.Job jid=0f"
    assert job_label("a\nb", "\x1b[2J") == "a\\nb jid=\\x1b[2J"
    assert job_label(None, ["x"]) == "None jid=['x']"
    assert len(job_label("c" * 10_000, "j" * 1_000_000)) < 500


def test_the_name_of_a_class_is_cut() -> None:
    name = "N" * (CLASS_LIMIT + 1)
    assert error_class(type(name, (ValueError,), {})()) == "N" * CLASS_LIMIT


def test_a_log_line_is_cut_at_200_characters_and_a_described_value_at_100() -> None:
    assert one_line("x" * 201) == "x" * 200 + "…"
    assert described("x" * 200) == "'" + "x" * 99 + "…"


def test_a_label_is_cut_at_its_own_limit() -> None:
    assert job_label("c" * 300, "j" * 300) == f"{'c' * LABEL_LIMIT}… jid={'j' * LABEL_LIMIT}…"


def test_bytes_are_cut_before_they_are_decoded() -> None:
    class Watched(bytes):
        longest = 0

        def __getitem__(self, key: Any) -> Any:
            Watched.longest = key.stop
            return super().__getitem__(key)

    assert scrub(Watched(b"x" * 100), 10) == "x" * 10
    assert Watched.longest == 40
