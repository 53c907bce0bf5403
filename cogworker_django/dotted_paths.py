"""Imports middleware and handlers by their dotted paths, and sees at once whether they can be called.

A fault found here is one line at the start; found later it would be one failure a job.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.module_loading import import_string

from cogworker_django.core.config import Middleware
from cogworker_django.core.middleware import Entry, is_asynchronous
from cogworker_django.core.settings import Problems, fault

HANDLER_ARGUMENTS = 2  # payload, exception


def imported_middleware(
    entries: Iterable[Middleware], place: str, arguments: int, problems: Problems, *, asynchronous: bool = False
) -> list[Entry]:
    """Import middleware.

    Args:
        entries: dotted paths with their keyword arguments.
        place: the key of the list in the settings.
        arguments: how many positional ones each is called with.
        problems: gets every fault.
        asynchronous: whether there is an event loop for such as are.
    """
    loaded: list[Entry] = []
    for index, (path, kwargs) in enumerate(entries):
        at = f"{place}[{index}]"
        with problems:
            target = _imported(path, at)
            if isinstance(target, type):
                _check_class(target, path, arguments, kwargs, at)
            else:
                _check_call(target, path, arguments, kwargs, at)
            if not asynchronous and is_asynchronous(target):
                raise fault(at, f"{path} is asynchronous, which only middleware around a run may be.")
            loaded.append((target, kwargs))
    return loaded


def imported_handlers(paths: Iterable[str], place: str, problems: Problems) -> tuple[Callable[..., Any], ...]:
    """Import functions that are called with a payload and an exception; the arguments are as above."""
    loaded: list[Callable[..., Any]] = []
    for index, path in enumerate(paths):
        at = f"{place}[{index}]"
        with problems:
            target = _imported(path, at)
            _check_call(target, path, HANDLER_ARGUMENTS, {}, at)
            loaded.append(target)
    return tuple(loaded)


def imported_callable(path: str, place: str, arguments: int) -> Callable[..., Any]:
    """Import one function.

    Args:
        path: its dotted path.
        place: its key in the settings.
        arguments: how many positional ones it is called with.

    Raises:
        ConfigurationError: it cannot be imported or called.
    """
    target = _imported(path, place)
    _check_call(target, path, arguments, {}, place)
    return target


def _imported(path: str, place: str) -> Callable[..., Any]:
    try:
        target = import_string(path)
    except Exception as error:
        raise fault(place, f"{path} cannot be imported: {type(error).__name__}: {error}.") from error
    if not callable(target):
        raise fault(place, f"{path} is neither a class nor a function.")
    found: Callable[..., Any] = target
    return found


def _check_class(target: type[Any], path: str, arguments: int, kwargs: Mapping[str, Any], place: str) -> None:
    _check_call(target, path, 0, kwargs, place)
    # Asking the class itself would find the metaclass's: every class can be called.
    if not any("__call__" in vars(base) for base in target.__mro__):
        raise fault(place, f"objects of {path} cannot be called: it needs a method __call__.")
    _check_call(target.__call__, path, arguments + 1, {}, place)


def _check_call(target: Callable[..., Any], path: str, arguments: int, kwargs: Mapping[str, Any], place: str) -> None:
    if inspect.iscoroutinefunction(target):
        raise fault(place, f"{path} is a coroutine function: write it without async.")
    try:
        inspect.signature(target).bind(*[None] * arguments, **kwargs)
    except TypeError as error:
        what = f"{arguments} arguments" if not kwargs else f"{arguments} arguments and {dict(kwargs)}"
        raise fault(place, f"{path} cannot be called with {what}: {error}.") from None
    except ValueError:
        return  # some that are written in C do not tell
