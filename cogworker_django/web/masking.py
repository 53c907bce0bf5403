"""What is shown of arguments and messages: secrets masked, long ones cut. There is no other way to a page.

A value is masked when its name, in a dict, a keyword or the signature of the job, contains one of `SENSITIVE`. In
messages and backtraces the same values are masked, and whatever looks like `name=value` with such a name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.registry import Registry
from cogworker_django.core.signature import signature_of

MASK = "••••"
FAILED = '(hidden: WEB["REDACT"] failed)'
DEEPEST = 40  # levels of arguments that are shown
SHORTEST = 4  # characters of a secret that is looked for in texts: shorter ones would mask half of any text
Redact = Callable[[str, list[Any], dict[str, Any]], tuple[list[Any], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Shown:
    """Arguments fit to be shown."""

    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """The texts that were masked, to be masked in messages too."""

    @property
    def compact(self) -> str:
        """All of them as one line of JSON; keywords come last."""
        parts = [_json(value) for value in self.args]
        parts += [f"{name}={_json(value)}" for name, value in self.kwargs.items()]
        return ", ".join(parts)


class Mask:
    """Masks what must not be seen.

    Args:
        names: `SENSITIVE`.
        redact: `WEB["REDACT"]`, called last; None for nothing more.
        registry: knows the parameters of jobs.
    """

    def __init__(self, names: Sequence[str], redact: Redact | None, registry: Registry[Any]) -> None:
        self._names = tuple(_plain(name) for name in names)
        self._redact = redact
        self._registry = registry
        words = "|".join(re.escape(name).replace("_", "[_-]?") for name in self._names) or r"(?!)"
        self._pairs = re.compile(
            rf"(\b[\w-]*(?:{words})[\w-]*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;)}}\]]+)", re.I
        )

    def arguments(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Shown:
        """Mask the arguments of a job.

        Args:
            name: the job's.
            args: positional ones.
            kwargs: keywords.
        """
        secrets: list[str] = []
        parameters = self._parameters(name)
        shown = [
            self._value(parameters[place] if place < len(parameters) else "", value, secrets, 0)
            for place, value in enumerate(args)
        ]
        named = {key: self._value(key, value, secrets, 0) for key, value in kwargs.items()}
        if self._redact is not None:
            shown, named = _redacted(self._redact, name, shown, named)
        return Shown(shown, named, tuple(sorted(set(secrets), key=len, reverse=True)))

    def text(self, text: str, secrets: Sequence[str] = ()) -> str:
        """Mask a message or a line of a backtrace.

        Args:
            text: it.
            secrets: what was masked of the job's arguments.
        """
        for secret in secrets:
            text = text.replace(secret, MASK)
        return self._pairs.sub(rf"\g<1>{MASK}", text)

    def value(self, value: Any) -> Any:
        """Mask what a job has returned or told about itself."""
        return self._value("", value, [], 0)

    def _value(self, name: str, value: Any, secrets: list[str], depth: int) -> Any:
        if name and self._is_secret(name):
            _collect(value, secrets, depth)
            return MASK
        if depth >= DEEPEST:
            return "…"
        if isinstance(value, dict):
            return {key: self._value(key, item, secrets, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value("", item, secrets, depth + 1) for item in value]
        return value

    def _is_secret(self, name: str) -> bool:
        plain = _plain(name)
        return any(secret in plain for secret in self._names)

    def _parameters(self, name: str) -> list[str]:
        """The names of a job's positional parameters, as far as its code is known here."""
        perform = getattr(self._registry.get(name), "perform", None)
        signature = signature_of(perform) if callable(perform) else None
        if signature is None:
            return []
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]
        return names[1:] if names[:1] == ["self"] else names


def _redacted(redact: Redact, name: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    try:
        shown, named = redact(name, args, kwargs)
        codec.encode([shown, named])
        return list(shown), dict(named)
    except Exception:  # noqa: BLE001 - the project's code: what it cannot judge is not shown
        return [FAILED], {}


def _collect(value: Any, secrets: list[str], depth: int) -> None:
    if depth > DEEPEST:
        return
    if isinstance(value, str) and len(value) >= SHORTEST:
        secrets.append(value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _collect(item, secrets, depth + 1)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _json(value: Any) -> str:
    return codec.encode(value).decode(errors="replace")
