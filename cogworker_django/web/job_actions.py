"""What can be done with single jobs, and what is told about it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cogworker_django.api.browse import Place, Record, find
from cogworker_django.api.jobsets import SetEntry
from cogworker_django.core.errors import LockHeld, RedisRefused, UnreadablePayload
from cogworker_django.web.notices import Notice
from cogworker_django.web.wording import count

LEAST_MINUTES, MOST_MINUTES = 1, 10_080
MOST_KEYS = 500
TOLD = 3  # single refusals that are told


@dataclass(slots=True)
class Outcome:
    """What has become of some jobs."""

    done: int = 0
    gone: int = 0
    """No longer there."""
    refused: list[str] = field(default_factory=list)
    """A sentence for each that stays where it is."""

    def notices(self, sentence: Callable[[int], str]) -> list[Notice]:
        """Tell it.

        Args:
            sentence: says how many were done.
        """
        told = [Notice("success", sentence(self.done))] if self.done else []
        if self.gone:
            text = ngettext(
                "%(number)s job is no longer there: it was taken, moved or deleted meanwhile.",
                "%(number)s jobs are no longer there: they were taken, moved or deleted meanwhile.",
                self.gone,
            )
            told.append(Notice("warning", text % {"number": count(self.gone)}))
        told += [Notice("danger", text) for text in self.refused[:TOLD]]
        if len(self.refused) > TOLD:
            text = _("%(number)s further jobs stay where they are.")
            told.append(Notice("danger", text % {"number": count(len(self.refused) - TOLD)}))
        return told or [Notice("info", _("No job was chosen. Nothing was changed."))]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done with a job."""

    do: Callable[[Record], bool]
    sentence: Callable[[int], str]
    question: Callable[[int], str] | None = None
    """What is asked before; None when nothing is."""
    label: str = ""


def retry(job: Record) -> bool:
    """Put a job of a set on its queue."""
    return isinstance(job, SetEntry) and job.retry()


def kill(job: Record) -> bool:
    """Move a job of a set to the dead ones."""
    return isinstance(job, SetEntry) and job.kill()


def delete(job: Record) -> bool:
    """Delete a job."""
    return job.delete()


def _retried(number: int) -> str:
    text = ngettext("%(number)s job is on its queue now.", "%(number)s jobs are on their queues now.", number)
    return text % {"number": count(number)}


def _deleted(number: int) -> str:
    text = ngettext("%(number)s job was deleted.", "%(number)s jobs were deleted.", number)
    return text % {"number": count(number)}


def _killed(number: int) -> str:
    text = ngettext("%(number)s job is dead now.", "%(number)s jobs are dead now.", number)
    return text % {"number": count(number)}


def rescheduled(number: int) -> str:
    """Say how many have another time."""
    text = ngettext("%(number)s job has its new time.", "%(number)s jobs have their new time.", number)
    return text % {"number": count(number)}


def _delete_question(number: int) -> str:
    text = ngettext(
        "Delete %(number)s job? It will not run, and this cannot be undone.",
        "Delete %(number)s jobs? They will not run, and this cannot be undone.",
        number,
    )
    return text % {"number": count(number)}


def _kill_question(number: int) -> str:
    text = ngettext(
        "Move %(number)s job to Dead? It runs again only by hand.",
        "Move %(number)s jobs to Dead? They run again only by hand.",
        number,
    )
    return text % {"number": count(number)}


def actions() -> dict[str, Action]:
    """Return all of them, by the values of their buttons."""
    return {
        "retry": Action(retry, _retried),
        "delete": Action(delete, _deleted, _delete_question, _("Delete")),
        "kill": Action(kill, _killed, _kill_question, _("Move to Dead")),
    }


def act(keys: Sequence[str], do: Callable[[Record], bool]) -> Outcome:
    """Do something with jobs that were seen; each is found anew, and what has moved is left alone.

    Args:
        keys: where they were seen, as in their rows.
        do: does it; whether the job was still there.
    """
    outcome = Outcome()
    for key in list(dict.fromkeys(keys))[:MOST_KEYS]:
        try:
            job = find(Place.read(key))
            done = job is not None and do(job)
        except (LockHeld, UnreadablePayload, RedisRefused) as error:
            outcome.refused.append(str(error))
        except ValueError:
            outcome.gone += 1
        else:
            outcome.done += done
            outcome.gone += not done
    return outcome


def wanted_time(minutes: str, at: str) -> timedelta | datetime:
    """Read when a job shall run.

    Args:
        minutes: from now, kept between 1 and 10,080 (reference, section 30.2).
        at: a date and time in the current zone; it counts when both are given.

    Raises:
        ValueError: neither can be read; the sentence says what to do.
    """
    if at.strip():
        try:
            when = parse_datetime(at.strip())
        except ValueError:
            when = None
        if when is None:
            raise ValueError(_("The date was not understood: write it as in 2026-12-31 18:00. Nothing was changed."))
        return timezone.make_aware(when) if timezone.is_naive(when) else when
    try:
        number = int(minutes)
    except ValueError:
        raise ValueError(_("Say in how many minutes, or when. Nothing was changed.")) from None
    return timedelta(minutes=min(max(number, LEAST_MINUTES), MOST_MINUTES))
