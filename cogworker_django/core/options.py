"""The options of a job: where it goes, how often it is retried, and what rides along (Contract 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from cogworker_django.core import times
from cogworker_django.core.arguments import checked
from cogworker_django.core.names import check_queue
from cogworker_django.core.payload import is_reserved
from cogworker_django.core.text import described

# The only unique mode there is.
UNTIL_EXECUTED = "until_executed"

# Options with a meaning of their own, as opposed to keywords that just ride along.
KNOWN = frozenset({"queue", "retry", "unique", "on_commit", "timeout", "expires_in"})
# Keywords of the definition itself, which no single call can change.
DEFINING = frozenset({"name", "aliases"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """The checked options of one job."""

    queue: str = "default"
    """The queue it is pushed to."""
    retry: bool | int | None = True
    """Retries after the first run: True is 25, False none."""
    unique: str | None = None
    """``"until_executed"``: refused while the same job waits or runs."""
    on_commit: bool | str | None = None
    """True or a database alias: pushed after the transaction commits. Never part of the payload."""
    timeout: float | None = None
    """Seconds that a run may take."""
    expires_in: float | None = None
    """Seconds after its push, or its due time, from which on it is too late to start."""
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Further keywords: they travel in the payload, for middleware."""

    def merged(self, **keywords: Any) -> JobOptions:
        """Make options with some of them replaced.

        Args:
            keywords: options, and keywords to ride along.

        Returns:
            New options; what is not named stays.

        Raises:
            TypeError: an option has a wrong type, or belongs to the definition (``name``, ``aliases``).
            ValueError: an option has a wrong value, or a keyword is a field of the payload.
        """
        changes: dict[str, Any] = {name: _CHECKS[name](value) for name, value in keywords.items() if name in KNOWN}
        extra = {name: _rider(name, value) for name, value in keywords.items() if name not in KNOWN}
        if extra:
            changes["extra"] = MappingProxyType({**self.extra, **extra})
        return replace(self, **changes) if changes else self

    def fields(self) -> dict[str, Any]:
        """Write what of the options belongs into a payload."""
        fields: dict[str, Any] = {"queue": self.queue, "retry": self.retry}
        if self.unique:
            fields["unique"] = self.unique
        if self.timeout is not None:
            fields["timeout"] = self.timeout
        return {**fields, **self.extra}


def refuse_attributes(owner: str, attributes: Mapping[str, Any]) -> None:
    """Refuse options written into a class's body, where they would say nothing to anybody.

    Args:
        owner: the class's name, for the error.
        attributes: what the body defines. A method may be called like an option.

    Raises:
        TypeError: one of them is an option.
    """
    for name in sorted(KNOWN & attributes.keys()):
        if isinstance(attributes[name], (str, int, type(None))):
            raise TypeError(f"{owner}.{name}: options are keywords of the class, as in class {owner}(Job, {name}=…)")


def check_retry(value: object) -> bool | int | None:
    """Check a ``retry`` option.

    Raises:
        TypeError: it is neither True, False, None nor an integer.
        ValueError: it is below 0.
    """
    if value is None or value is True or value is False:
        return value
    if type(value) is not int:
        raise TypeError(f"retry must be True, False or a number of retries, not {described(value)}")
    if value < 0:
        raise ValueError(f"retry must be 0 or more, not {value}")
    return int(checked(value, "retry"))


def check_unique(value: object) -> str | None:
    """Check a ``unique`` option.

    Raises:
        ValueError: it is neither None nor ``"until_executed"``.
    """
    if value is None or (type(value) is str and value == UNTIL_EXECUTED):
        return value
    raise ValueError(f'unique must be "{UNTIL_EXECUTED}" or None, not {described(value)}')


def check_on_commit(value: object) -> bool | str | None:
    """Check an ``on_commit`` option.

    Raises:
        TypeError: it is neither True, False, None nor the name of a database.
    """
    if value is None or value is False:
        return None
    if value is True or (type(value) is str and value):
        return value
    raise TypeError(f"on_commit must be True, False or a database alias, not {described(value)}")


def check_seconds(name: str, value: object) -> float | None:
    """Check an option that is a length of time.

    Args:
        name: of the option.
        value: seconds, a timedelta, or None for no limit.

    Raises:
        TypeError: it is of another type.
        ValueError: it is not above 0, or not finite.
    """
    if value is None:
        return None
    seconds = times.seconds(value, name)
    if seconds <= 0:
        raise ValueError(f"{name} must be more than 0 seconds, not {described(value)}")
    return seconds


def _rider(name: str, value: object) -> Any:
    if name in DEFINING:
        raise TypeError(f"{name} belongs to the job's definition and cannot be set for a call")
    if is_reserved(name):
        raise ValueError(f"{name} is a field of the payload and cannot be an option: choose another name")
    return checked(value, name)


_CHECKS: dict[str, Callable[[object], Any]] = {
    "queue": check_queue,
    "retry": check_retry,
    "unique": check_unique,
    "on_commit": check_on_commit,
    "timeout": partial(check_seconds, "timeout"),
    "expires_in": partial(check_seconds, "expires_in"),
}
