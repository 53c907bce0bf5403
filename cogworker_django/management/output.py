"""What commands print."""

from __future__ import annotations


def printable(text: str, stream: object) -> str:
    """Make a text that a stream can take: a name it cannot show is no reason to show nothing (case B096).

    Args:
        text: what shall be printed.
        stream: where; a stream without an encoding takes everything.

    Returns:
        The text, with an escape for each character that the stream's encoding does not have.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
