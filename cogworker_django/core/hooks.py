"""Calling what users hand in: hooks and handlers take as few arguments as they like (Reference 12.2)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from cogworker_django.core.signature import signature_of


def call_with_fitting(hook: Callable[..., Any], *args: Any) -> Any:
    """Call a hook with only as many of the arguments, from the left, as it takes.

    Args:
        hook: any callable.
        args: what there is to give.

    Returns:
        What the hook returned; what it raises goes through.
    """
    return hook(*args[: _capacity(hook, len(args))])


def _capacity(hook: Callable[..., Any], most: int) -> int:
    signature = signature_of(hook)
    if signature is None:
        return most
    parameters = signature.parameters.values()
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return most
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in positional for parameter in parameters)
