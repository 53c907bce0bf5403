"""Where the worker's log goes, and how a line looks (Contract 4).

The project's `LOGGING` decides if it gives the logger `cogworker` or the root a handler; otherwise a handler
of ours writes to stdout. `-L FILE` replaces either.
"""

from __future__ import annotations

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


class StdoutHandler(logging.Handler):
    """Writes lines to stdout as UTF-8, whatever the locale says, and leaves nothing in a buffer."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; text that cannot be encoded is escaped."""
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            # Past the buffer: one that cannot be emptied, because the reader has gone, would fail the exit.
            stream = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
            while line and (written := stream.write(line)):
                line = line[written:]
        except Exception:  # noqa: BLE001 - as every handler: a log that fails must not stop the work
            self.handleError(record)


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
        handler = logging.FileHandler(logfile, encoding="utf-8", errors="backslashreplace")
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
