"""What all payloads of one job under one set of options have in common, worked out once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cogworker_django.core.options import JobOptions
from cogworker_django.core.payload import EXPIRES_AT, Payload
from cogworker_django.core.signature import CallCheck, accept_any


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A job as its pusher sees it."""

    name: str
    """The name in the payload's ``class``."""
    options: JobOptions
    """Its checked options."""
    fields: dict[str, Any]
    """The options as payload fields; never changed."""
    check_call: CallCheck
    """Raises TypeError unless ``perform`` can be called with given arguments."""

    @classmethod
    def of(cls, name: str, options: JobOptions, check_call: CallCheck = accept_any) -> Blueprint:
        """Make a blueprint.

        Args:
            name: the job's name, already checked.
            options: its options.
            check_call: the check of its arguments; by default every call fits.
        """
        return cls(name, options, options.fields(), check_call)

    def with_options(self, **keywords: Any) -> Blueprint:
        """Make the blueprint for a call with options of its own.

        Args:
            keywords: as for `JobOptions.merged`.

        Raises:
            TypeError: as `JobOptions.merged`.
            ValueError: as `JobOptions.merged`.
        """
        return Blueprint.of(self.name, self.options.merged(**keywords), self.check_call)

    def committing(self, on_commit: bool | str) -> Blueprint:
        """Make the blueprint for a call that waits for a commit."""
        return replace(self, options=replace(self.options, on_commit=on_commit))

    def payload(self, args: list[Any], kwargs: dict[str, Any], jid: str, now: float) -> Payload:
        """Make a payload.

        Args:
            args: positional arguments, checked and copied.
            kwargs: keyword arguments, checked and copied; left out of the payload if there are none.
            jid: the job's id.
            now: epoch seconds, the job's ``created_at``.
        """
        payload = {"class": self.name, "args": args, "jid": jid, **self.fields, "created_at": now}
        if kwargs:
            payload["kwargs"] = kwargs
        return payload

    def limit(self, payload: Payload, start: float) -> None:
        """Write into a payload when it is too late to start.

        Args:
            payload: of one job.
            start: when it is to run at the earliest, epoch seconds.
        """
        if self.options.expires_in is not None:
            payload[EXPIRES_AT] = start + self.options.expires_in
