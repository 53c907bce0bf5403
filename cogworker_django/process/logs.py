"""Where the worker's log goes, and how a line looks (Contract 4).

The project's `LOGGING` decides if it gives the logger `cogworker` or the root a handler; otherwise a handler
of ours writes to stdout. `-L FILE` replaces either.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

LOGGER = "cogworker"
# Everything that could end a line, move a terminal's cursor or hide text: C0, DEL, C1, line and paragraph
# separators, and the marks that turn the direction of what follows.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class LineFormatter(logging.Formatter):
    """One line a record: UTC time, pid, level, text; a traceback stands on the same line, escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = UNSAFE.sub(_escaped, super().format(record))
        return f"{time.removesuffix('+00:00')}Z pid={os.getpid()} {record.levelname}: {text}"


class LineHandler(logging.Handler):
    """Writes each record with one call, past every buffer: processes that share a file do not mix their lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; text that cannot be encoded is escaped."""
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            while line:
                line = line[self.write(line) :]
        except Exception:  # noqa: BLE001 - as every handler: a log that fails must not stop the work
            self.handleError(record)

    def write(self, line: bytes) -> int:
        """Write what can be written; how many bytes that were."""
        raise NotImplementedError


class StdoutHandler(LineHandler):
    """Writes lines to stdout as UTF-8, whatever the locale says, and leaves nothing in a buffer."""

    def write(self, line: bytes) -> int:
        """Write to stdout.

        Past the buffer: one that cannot be emptied, because the reader has gone, would fail the exit.
        """
        stream = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        return stream.write(line) or len(line)


class LogFile(LineHandler):
    """Appends lines to a file, which can be opened anew when it was moved away.

    Args:
        path: of the file.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        # Wherever the process goes: the name is one of the directory in which it was given.
        self._path = path.absolute()
        self._file = self._open()

    def write(self, line: bytes) -> int:
        """Append to the file."""
        return os.write(self._file, line)

    def reopen(self) -> None:
        """Open the file of that name anew; when that fails, the old one is kept.

        Raises:
            OSError: it cannot be opened.
        """
        with self.lock or contextlib.nullcontext():
            old, self._file = self._file, self._open()
            os.close(old)

    def close(self) -> None:
        """Close the file."""
        with self.lock or contextlib.nullcontext():
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
        super().close()

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


def reopen() -> None:
    """Open the log file anew, where there is one; a failure is logged into the old one."""
    logger = logging.getLogger(LOGGER)
    for handler in logger.handlers:
        if isinstance(handler, LogFile):
            try:
                handler.reopen()
            except OSError as error:
                logger.error("the log file cannot be opened anew, the old one is kept: %s", error)
            else:
                logger.info("the log file is opened anew")


def install(logfile: Path | None = None) -> None:
    """Give the logger `cogworker` a handler where it has none, or the log file.

    Args:
        logfile: append to this file instead of whatever is set up.

    Raises:
        OSError: the file cannot be opened.
    """
    logger = logging.getLogger(LOGGER)
    if logfile is None and logger.hasHandlers():
        return
    handler: logging.Handler = StdoutHandler()
    if logfile is not None:
        handler = LogFile(logfile)
    handler.setFormatter(LineFormatter())
    for old in logger.handlers[:]:
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
