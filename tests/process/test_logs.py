from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cogworker_django.process import logs


@contextmanager
def project_without_logging() -> Iterator[logging.Logger]:
    """The logger as such a project has it; the handlers that pytest adds for each step are out of the way."""
    logger, root = logging.getLogger(logs.LOGGER), logging.getLogger()
    kept = (logger.handlers[:], logger.propagate, logger.level, root.handlers[:])
    logger.handlers[:], logger.propagate, root.handlers[:] = [], True, []
    logger.setLevel(logging.NOTSET)
    try:
        yield logger
    finally:
        for handler in logger.handlers:
            handler.close()
        logger.handlers[:], logger.propagate, root.handlers[:] = kept[0], kept[1], kept[3]
        logger.setLevel(kept[2])


def line(message: str, *args: object, exc_info: bool = False) -> str:
    record = logging.LogRecord(
        "cogworker", logging.WARNING, "x.py", 1, message, args, sys.exc_info() if exc_info else None
    )
    record.created = 1_700_000_000.123
    return logs.LineFormatter().format(record)


def test_a_line_has_time_pid_level_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 42)
    assert line("hello %s", "wörld") == "2023-11-14T22:13:20.123Z pid=42 WARNING: hello wörld"


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\u202e", "\u2066"]
)
def test_what_could_forge_a_line_or_steer_a_terminal_is_escaped(character: str) -> None:
    text = line("before%safter", character)
    assert character not in text
    assert text.endswith("before" + character.encode("unicode_escape").decode() + "after")
    assert len(text.splitlines()) == 1


def test_a_traceback_stays_on_the_line() -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        text = line("it failed", exc_info=True)
    assert text.count("\n") == 0
    assert "it failed\\nTraceback" in text
    assert text.endswith("ValueError: first\\nsecond")


def test_without_a_handler_the_log_goes_to_stdout_from_info_on(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with project_without_logging() as logger:
        logs.install()
        logger.debug("too fine")
        logger.info("wörk \ud800")
        out = capsysbinary.readouterr().out
        assert out.endswith("INFO: wörk \\ud800\n".encode())
        assert b"too fine" not in out
        assert not logger.propagate


def test_installing_twice_does_not_write_twice(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with project_without_logging() as logger:
        logs.install()
        logs.install()
        logger.info("once")
        assert capsysbinary.readouterr().out.count(b"once") == 1


@pytest.mark.parametrize("owner", ["cogworker", None])
def test_a_handler_of_the_project_is_left_alone(owner: str | None) -> None:
    with project_without_logging() as logger:
        own = logging.NullHandler()
        logging.getLogger(owner).addHandler(own)
        logs.install()
        assert logging.getLogger(owner).handlers == [own]
        assert logger.propagate
        assert logger.level == logging.NOTSET


def test_a_level_of_the_project_holds_for_our_handler_too(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with project_without_logging() as logger:
        logger.setLevel(logging.ERROR)
        logs.install()
        logger.warning("quiet")
        assert capsysbinary.readouterr().out == b""


def test_a_log_file_replaces_every_handler(tmp_path: Path) -> None:
    with project_without_logging() as logger:
        logger.addHandler(logging.NullHandler())
        path = tmp_path / "worker.log"
        path.write_text("earlier\n")
        logs.install(path)
        logger.info("größe \ud800")
        earlier, written = path.read_text(encoding="utf-8").splitlines()
        assert earlier == "earlier"
        assert written.endswith("INFO: größe \\ud800")


def test_a_log_file_that_cannot_be_opened_changes_nothing(tmp_path: Path) -> None:
    with project_without_logging() as logger:
        with pytest.raises(OSError, match="No such file"):
            logs.install(tmp_path / "no" / "folder.log")
        assert logger.handlers == []
