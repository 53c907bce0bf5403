"""Jobs as the tables show them: masked, cut, with their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from cogworker_django import runtime
from cogworker_django.api.record import JobRecord
from cogworker_django.core import payload, retry, times
from cogworker_django.web.access import May
from cogworker_django.web.links import Links
from cogworker_django.web.masking import Mask
from cogworker_django.web.redaction import redactor

ARGS_SHOWN = 160  # characters of arguments in a table
ERROR_SHOWN = 200
NAME_SHOWN = 200
HIDDEN = "…"  # in the place of arguments, for whoever may not see them


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRow:
    """One job in a table."""

    klass: str
    jid: str
    url: str
    """Of the job's page; empty for what is no job."""
    queue: str
    queue_url: str
    args: str
    """Empty when there are none, or whoever looks may not see them."""
    error_class: str = ""
    error_message: str = ""
    attempt: str = ""
    created_at: float | None = None
    enqueued_at: float | None = None
    failed_at: float | None = None
    score: float | None = None
    """When it is due or died, epoch seconds."""
    key: str = ""
    """Names the entry in a form."""
    can_retry: bool = False
    readable: bool = True
    extra: Any = None
    """What a page adds."""

    @property
    def short(self) -> str:
        """The jid's beginning, which with the class names a job for a reader."""
        return self.jid[:8]


def current_mask() -> Mask:
    """Build the mask of the current settings."""
    now = runtime.current()
    return Mask(now.config.sensitive, redactor(), now.registry)


class Rows:
    """Makes rows for one reader.

    Args:
        links: makes addresses.
        may: what the reader may see.
    """

    def __init__(self, links: Links, may: May) -> None:
        self._links = links
        self._may = may
        self.mask = current_mask()

    def of(self, record: JobRecord, *, key: str = "", score: float | None = None, state: str = "") -> JobRow:
        """Make the row of a stored job.

        Args:
            record: the job.
            key: names it in forms.
            score: when it is due or died.
            state: where it lies, for the address of its page.
        """
        item = record.item
        readable = record.klass != payload.UNREADABLE_CLASS
        return self.of_payload(item, key=key, score=score, state=state, readable=readable)

    def of_payload(
        self,
        item: Mapping[str, Any],
        *,
        key: str = "",
        score: float | None = None,
        state: str = "",
        readable: bool = True,
    ) -> JobRow:
        """Make the row of a payload; otherwise as `of`."""
        name, jid = _text(item.get("class")), _text(item.get("jid"))
        queue = _text(item.get("queue"))
        args, secrets = self.arguments(item)
        message = _text(item.get("error_message"), ERROR_SHOWN * 4) if self._may.view_arguments else ""
        return JobRow(
            klass=cut(name, NAME_SHOWN),
            jid=jid,
            url=self._links.to("job", jid, query={"at": key}) if readable and jid else "",
            queue=queue,
            queue_url=self._links.to("queue", queue) if queue else "",
            args=args,
            error_class=cut(_text(item.get("error_class")), NAME_SHOWN),
            error_message=cut(self.mask.text(message, secrets), ERROR_SHOWN),
            attempt=attempt_of(item),
            created_at=times.told(item.get("created_at")),
            enqueued_at=times.told(item.get("enqueued_at")),
            failed_at=times.told(item.get("failed_at")),
            score=score,
            key=key,
            can_retry=readable and bool(queue),
            readable=readable,
        )

    def arguments(self, item: Mapping[str, Any], limit: int = ARGS_SHOWN) -> tuple[str, tuple[str, ...]]:
        """Return a payload's arguments on one line, and what was masked in them.

        Args:
            item: the payload, or an entry of the history.
            limit: characters after which the line is cut.
        """
        args, kwargs = item.get("args"), item.get("kwargs")
        shown = self.mask.arguments(
            _text(item.get("class")), args if isinstance(args, list) else [], kwargs if isinstance(kwargs, dict) else {}
        )
        if not self._may.view_arguments:
            return (HIDDEN if shown.args or shown.kwargs else "", shown.secrets)
        return cut(shown.compact, limit), shown.secrets


def attempt_of(item: Mapping[str, Any]) -> str:
    """Tell which attempts of how many have failed, as in "3 of 26"; empty before the first failure."""
    failed = payload.failures(dict(item))
    if not failed:
        return ""
    return _("%(failed)s of %(all)s") % {"failed": failed, "all": max(failed, retry.budget(item.get("retry")) + 1)}


def cut(text: str, limit: int) -> str:
    """Cut a text."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text(value: object, limit: int = 4_000) -> str:
    return value[:limit] if isinstance(value, str) else ""
