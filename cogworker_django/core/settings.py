"""How a section of settings is declared and read: every fault found at once, each with its place.

A section is a frozen dataclass whose fields are made by `setting(default, reader)`; the key in the settings
is the field's name in capitals. A reader takes the raw value and its place (`COGWORKER["QUEUES"][1]`), and
returns the clean value or raises `ConfigurationError`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, field, fields
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeVar, cast

from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.text import described

D = TypeVar("D")
T = TypeVar("T")
Reader = Callable[[object, str], T]

# Seconds: a century. Redis refuses expiries and Python refuses waits that are very much longer.
LONGEST_DURATION = 100 * 365 * 86_400.0


def setting(default: D, read: Reader[T], *, hidden: bool = False) -> D | T:
    """Declare a field of a section.

    Args:
        default: its value when the key is not given.
        read: the reader of a given value.
        hidden: keep the value out of the section's `repr`.
    """
    return cast("D | T", field(default=default, repr=not hidden, metadata={"read": read}))


class Problems:
    """Collects the problems of the blocks it is entered for, so that one fault does not hide the next."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, ConfigurationError):
            self.found.extend(error.problems)
            return True
        return False

    def add(self, place: str, sentence: str) -> None:
        """Note one problem."""
        self.found.append(f"{place}: {sentence}")

    def check(self) -> None:
        """Raise `ConfigurationError` with all that was found, if anything was."""
        if self.found:
            raise ConfigurationError(self.found)


def fault(place: str, sentence: str) -> ConfigurationError:
    """Return the error for one problem at a place."""
    return ConfigurationError([f"{place}: {sentence}"])


def unknown_keys(given: Iterable[object], known: Iterable[str], place: str) -> list[str]:
    """Return a problem for each key that is not known, with the nearest known one where there is one."""
    names = {name.casefold(): name for name in known}
    problems = []
    for key in given:
        if key in names.values():
            continue
        near = difflib.get_close_matches(str(key).casefold(), names, n=1)
        hint = f'; did you mean "{names[near[0]]}"?' if near else "."
        problems.append(f'{place}["{key}"]: unknown key{hint}')
    return problems


def declared(section: type[Any], spelling: Callable[[str], str] = str.upper) -> dict[str, Field[Any]]:
    """Return the fields of a section by their key."""
    return {spelling(item.name): item for item in fields(section) if "read" in item.metadata}


def read_fields(
    section: type[Any],
    value: object,
    place: str,
    problems: Problems,
    *,
    more: Iterable[str] = (),
    spelling: Callable[[str], str] = str.upper,
) -> dict[str, Any]:
    """Read the declared fields of a section out of a mapping.

    Args:
        section: the dataclass.
        value: the mapping as the user wrote it.
        place: where it stands, for the messages.
        problems: gets every fault.
        more: further known keys, which the caller reads itself.
        spelling: makes the key of a field's name.

    Returns:
        The clean values by field name, of the given keys without a fault.
    """
    if not isinstance(value, Mapping):
        problems.add(place, f"must be a dict, not {described(value)}.")
        return {}
    known = declared(section, spelling)
    problems.found.extend(unknown_keys(value, [*known, *more], place))
    clean = {}
    for key, item in known.items():
        if key in value:
            with problems:
                clean[item.name] = item.metadata["read"](value[key], f'{place}["{key}"]')
    return clean


def section(kind: type[T]) -> Reader[T]:
    """Return the reader of a dict that is a section of its own."""

    def read(value: object, place: str) -> T:
        problems = Problems()
        clean = read_fields(kind, value, place, problems)
        problems.check()
        return kind(**clean)

    return read


def optional(read: Reader[T]) -> Reader[T | None]:
    """Return a reader that also takes None, for "switched off"."""
    return lambda value, place: None if value is None else read(value, place)


def integer(minimum: int = 1, maximum: int | None = None) -> Reader[int]:
    """Return the reader of a whole number within limits."""
    limits = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"

    def read(value: object, place: str) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < minimum
            or (maximum is not None and value > maximum)
        ):
            raise fault(place, f"must be a whole number {limits}, not {described(value)}.")
        return value

    return read


def duration(*, zero: bool = False, least: float = 0.0) -> Reader[float]:
    """Return the reader of a duration: seconds or a `timedelta`, above zero unless zero is allowed.

    Args:
        zero: whether zero is allowed.
        least: seconds that it must have.
    """
    limit = f"of at least {least:g}" if zero or least else "above 0"

    def read(value: object, place: str) -> float:
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        # Not a number compares false with everything, so it is refused here as well.
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, (int, float))
            or not least <= seconds <= LONGEST_DURATION
            or (seconds == 0 and not zero)
        ):
            raise fault(place, f"must be seconds or a timedelta {limit}, not {described(value)}.")
        return float(seconds)

    return read


def boolean(value: object, place: str) -> bool:
    """Read True or False; nothing else is taken for one of them."""
    if not isinstance(value, bool):
        raise fault(place, f"must be True or False, not {described(value)}.")
    return value


def text(value: object, place: str) -> str:
    """Read a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise fault(place, f"must be a string that is not empty, not {described(value)}.")
    return value


def secret(value: object, place: str) -> str:
    """Read a string that no message may repeat."""
    if not isinstance(value, str) or not value:
        raise fault(place, "must be a string that is not empty.")
    return value


def one_of(*choices: str) -> Reader[str]:
    """Return the reader of one of a few words."""

    def read(value: object, place: str) -> str:
        if value not in choices:
            raise fault(place, f"must be {' or '.join(map(repr, choices))}, not {described(value)}.")
        return str(value)

    return read


def dotted_path(value: object, place: str) -> str:
    """Read the dotted path of something that can be imported; it is not imported here."""
    parts = value.split(".") if isinstance(value, str) else [""]
    if not all(part.isidentifier() for part in parts):
        raise fault(place, f'must be a dotted path such as "project.module.name", not {described(value)}.')
    return cast(str, value)


def listing(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """Return the reader of a list whose every item the given reader takes."""

    def read_all(value: object, place: str) -> tuple[T, ...]:
        if not isinstance(value, (list, tuple)):
            raise fault(place, f"must be a list, not {described(value)}.")
        problems = Problems()
        clean = []
        for index, item in enumerate(value):
            with problems:
                clean.append(read(item, f"{place}[{index}]"))
        problems.check()
        return tuple(clean)

    return read_all
