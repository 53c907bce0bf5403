"""What is written beside the end of a run for people: the job's status and an entry of the history."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Record:
    """Both, encoded, of one run; whatever becomes of them changes nothing about the job."""

    jid: str
    """The job's id: names its status."""
    status: str | None = None
    """The new status; None when none is kept."""
    entry: str | None = None
    """What the history says about the run; None when none is kept."""
