"""What `Client.push` gets: a job as a plain dict, for callers that do not have its code (Contract 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.names import check_jid, check_job_name
from cogworker_django.core.options import JobOptions
from cogworker_django.core.text import described

# Keys of an item that are not options.
_OWN = frozenset({"class", "args", "kwargs", "jid", "at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One job to push, its parts still to be checked by those who use them."""

    blueprint: Blueprint
    """The job and its options."""
    args: list[Any] | tuple[Any, ...]
    """Positional arguments."""
    kwargs: dict[str, Any]
    """Keyword arguments."""
    jid: str | None
    """The id the caller chose."""
    at: object
    """When it is due; None for now."""


def read_item(item: Mapping[str, Any], registered: Callable[[str], Blueprint | None]) -> Item:
    """Read an item.

    Args:
        item: ``class`` (a name, a Job class or a job function), and optionally ``args``, ``kwargs``, ``jid``,
            ``at``, options, and further keys that ride along.
        registered: finds the blueprint of a registered job by its name.

    Returns:
        Its parts. A registered job's own options hold where the item names none.

    Raises:
        TypeError: a part has a wrong type, or there is no class.
        ValueError: a part has a wrong value, or a key is a payload field that is not the caller's.
    """
    if not isinstance(item, Mapping):
        raise TypeError(f"an item must be a dict with a class, not {described(item)}")
    for key in item:
        if type(key) is not str:
            raise TypeError(f"the item's key {described(key)} is not a string")
    options = {key: value for key, value in item.items() if key not in _OWN}
    blueprint = _blueprint(item, registered)
    jid = item.get("jid")
    return Item(
        blueprint=blueprint.with_options(**options) if options else blueprint,
        args=_typed(item.get("args", ()), (list, tuple), "args must be a list or tuple"),
        kwargs=_typed(item.get("kwargs", {}), (dict,), "kwargs must be a dict"),
        jid=None if jid is None else check_jid(jid),
        at=item.get("at"),
    )


def _blueprint(item: Mapping[str, Any], registered: Callable[[str], Blueprint | None]) -> Blueprint:
    named = item.get("class")
    own = getattr(named, "cogworker_blueprint", None)
    if isinstance(own, Blueprint):
        return own
    if type(named) is not str:
        raise TypeError(f"the item's class must be the name of a job, or a job, not {described(named)}")
    return registered(named) or Blueprint.of(check_job_name(named), JobOptions())


def _typed(value: Any, kinds: tuple[type, ...], sentence: str) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{sentence}, not {described(value)}")
    return value
