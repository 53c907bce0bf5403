"""Does a call fit `perform`? Asked at the call, so that a wrong one fails there and not in a worker later."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cogworker_django.core.text import described

if sys.version_info >= (3, 14):
    import annotationlib

CallCheck = Callable[[Sequence[Any], Mapping[str, Any]], None]


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Read a callable's signature without evaluating its annotations.

    Args:
        function: any callable.

    Returns:
        The signature; None if it does not tell, as some builtins do not.
    """
    try:
        if sys.version_info >= (3, 14):
            return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def perform_signature(name: str, perform: object) -> inspect.Signature | None:
    """Read the signature of a job's ``perform``, and refuse one that a worker would call for nothing.

    Args:
        name: the job's name, for the error.
        perform: what the class has under that name.

    Returns:
        As `signature_of`.

    Raises:
        TypeError: it is no function, or a generator: nobody would iterate over it.
    """
    if not callable(perform):
        raise TypeError(f"{name}.perform must be a method, not {described(perform)}")
    if inspect.isgeneratorfunction(perform) or inspect.isasyncgenfunction(perform):
        raise TypeError(f"{name}.perform is a generator, and nothing of it would run: do the work without yield")
    return signature_of(perform)


class CallSignature:
    """The signature of one job's ``perform``, without ``self``.

    What can be told from the number of positional arguments is worked out once, here; only a call with
    keywords or a suspicious one is really bound.

    Args:
        name: the job's name, for the error.
        signature: of ``perform`` as the worker will call it.
    """

    def __init__(self, name: str, signature: inspect.Signature) -> None:
        self._name = name
        self._signature = signature
        self._least, self._most = _positional_range(signature)

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Check a call.

        Args:
            args: the positional arguments.
            kwargs: the keyword arguments.

        Raises:
            TypeError: ``perform`` cannot be called so; the message names the job and says why.
        """
        if not kwargs and self._least <= len(args) <= self._most:
            return
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}.perform: {error}") from None


def accept_any(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check nothing: for jobs whose code is not here."""


def refuse_all(name: str) -> CallCheck:
    """Make the check of a job that cannot run.

    Args:
        name: the job's name, for the error.
    """

    def check(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        raise TypeError(f"{name} has no perform method: define it, or push one of its subclasses")

    return check


def _positional_range(signature: inspect.Signature) -> tuple[float, float]:
    """Least and most positional arguments of a call without keywords; an empty range if it needs keywords."""
    least = most = 0.0
    for parameter in signature.parameters.values():
        required = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = float("inf")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            least = float("inf") if required else least
        elif parameter.kind is not parameter.VAR_KEYWORD:
            least += required
            most += 1
    return least, most
