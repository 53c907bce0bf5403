"""Text from outside made safe to store and to log: whatever comes in, nothing here raises (Reference 3.2)."""

from __future__ import annotations

import re
import traceback
from types import TracebackType

# Characters of an error message that are stored (Reference 3).
MESSAGE_LIMIT = 10_000
# Characters of an error's class name; real names are far below, generated ones need not be.
CLASS_LIMIT = 200
# Characters of a job's name and of its id in a log line.
LABEL_LIMIT = 200
# Lines of a backtrace that are stored: the last ones, which hold the place of the error.
BACKTRACE_LINES = 200
# Characters of one backtrace line; a longer one is generated code or data in a message.
BACKTRACE_LINE_LIMIT = 1_000
# Frames walked per exception of a chain: each prints two lines or more, so no more can be shown.
BACKTRACE_FRAMES = 100
# Frames of these modules come above those of a job.
OUR_MODULES = "cogworker_django."

_SURROGATES = re.compile("[\ud800-\udfff]")
# Control characters, Unicode line ends, the marks that reorder text on a terminal, and surrogates.
_UNSAFE_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def scrub(text: str | bytes, limit: int) -> str:
    """Make a text that can be encoded as UTF-8.

    Args:
        text: any string, lone surrogates included, or bytes meant as UTF-8.
        limit: the most characters to keep.

    Returns:
        A plain ``str`` of at most ``limit`` characters; what was not valid is U+FFFD.
    """
    if isinstance(text, str):
        return _SURROGATES.sub("\ufffd", str.__str__(text)[:limit])
    # Four bytes a character at most: decoding less than all of a huge value is enough.
    return bytes(text[: 4 * limit]).decode("utf-8", "replace")[:limit]


def error_class(error: BaseException) -> str:
    """Name an error's class for the payload: its own name, without module (``"SystemExit"``).

    Args:
        error: the exception.

    Returns:
        The name, scrubbed; ``"Exception"`` if the class has none that can be read.
    """
    try:
        name = scrub(type(error).__name__, CLASS_LIMIT)
    except BaseException:  # noqa: BLE001 - a metaclass may do anything
        name = ""
    return name or "Exception"


def error_message(error: BaseException) -> str:
    """Read an error's message for the payload.

    Args:
        error: the exception.

    Returns:
        ``str(error)`` scrubbed and cut at 10 000 characters, or ``#<Class>`` if that raises (Reference 3.2).
    """
    try:
        return scrub(str(error), MESSAGE_LIMIT)
    except BaseException:  # noqa: BLE001 - a user's __str__ may raise anything, an exit included
        return f"#<{error_class(error)}>"


def backtrace(error: BaseException) -> list[str]:
    """Write an error's traceback, with its causes and the members of a group, as lines of text.

    It begins where the job's own code does. Nothing of the exception is kept alive by the result.

    Args:
        error: the exception.

    Returns:
        The last 200 lines, scrubbed; a cycle of causes ends where it closes.
    """
    try:
        frames = _from_the_job_on(error.__traceback__)
        report = traceback.TracebackException(type(error), error, frames, limit=-BACKTRACE_FRAMES, compact=True)
        lines = "".join(report.format()).rstrip("\n").split("\n")
    except BaseException:  # noqa: BLE001 - foreign __str__, __cause__ or source loaders take part
        lines = [f"{error_class(error)}: {error_message(error)}"]
    return [scrub(line, BACKTRACE_LINE_LIMIT) for line in lines[-BACKTRACE_LINES:]]


def _from_the_job_on(frames: TracebackType | None) -> TracebackType | None:
    """Leave out the worker's own frames above those of the job: they tell its author nothing, and each costs 50 µs."""
    inner = frames
    while inner is not None and inner.tb_frame.f_globals.get("__name__", "").startswith(OUR_MODULES):
        inner = inner.tb_next
    return inner or frames


def one_line(text: str, limit: int = 200) -> str:
    """Make a text fit for one log line: no control character, no line end, nothing that reorders it.

    Args:
        text: any string.
        limit: the most characters of it to show.

    Returns:
        The text with such characters written as escapes, and ``…`` at the end if it was cut.
    """
    shown = _UNSAFE_IN_A_LINE.sub(_escaped, str.__str__(text)[:limit])
    return shown + "…" if len(text) > limit else shown


def job_label(name: object, jid: object) -> str:
    """Name a job in a log line: both may be what somebody wrote into Redis by hand.

    Args:
        name: the payload's class.
        jid: its id.
    """
    shown = [one_line(word, LABEL_LIMIT) if isinstance(word, str) else described(word) for word in (name, jid)]
    return f"{shown[0]} jid={shown[1]}"


def described(value: object, limit: int = 100) -> str:
    """Show any value in a message of ours.

    Args:
        value: the value.
        limit: the most characters of it to show.

    Returns:
        Its ``repr`` on one line, or a few words instead if that raises.
    """
    try:
        return one_line(repr(value), limit)
    except BaseException:  # noqa: BLE001 - a foreign __repr__ may raise anything
        return "something that cannot be shown"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
