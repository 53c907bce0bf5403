"""A periodic entry: what is to be pushed when (Contract 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cogworker_django.core import codec
from cogworker_django.core.arguments import checked
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.cron import Cron
from cogworker_django.core.names import check_job_name, check_queue
from cogworker_django.core.options import check_retry, check_unique
from cogworker_django.core.registry import Registry
from cogworker_django.core.settings import Problems
from cogworker_django.core.text import described, error_message

OPTIONS = ("queue", "retry", "unique")
KEYS = ("cron", "job", "name", "args", "kwargs", "timezone", "catch_up", *OPTIONS)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A checked entry."""

    name: str
    cron: Cron
    job: str
    """The job's name."""
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of `queue`, `retry` and `unique` those that the entry sets; else the job's own hold."""
    catch_up: bool = True
    """Whether an entry that was never seen before runs at once for its latest time."""

    def published(self) -> bytes:
        """As the pages and others read it."""
        fields = {"cron": self.cron.expression, "timezone": self.cron.zone, "job": self.job, "args": list(self.args)}
        return codec.encode({**fields, "kwargs": dict(self.kwargs), **self.options, "catch_up": self.catch_up})


@dataclass(frozen=True)
class Declaration:
    """What somebody has written, unchecked."""

    place: str
    """Where, for messages."""
    fields: Any
    """A dict with `KEYS`; `job` is a name or a job."""


def entries(
    declarations: Sequence[Declaration], registry: Registry[Any], *, zone: str, catch_up: bool
) -> tuple[Entry, ...]:
    """Check all declarations.

    Args:
        declarations: all of the project.
        registry: the jobs there are.
        zone: of those that name none.
        catch_up: of those that do not say.

    Raises:
        ConfigurationError: with every fault of every declaration, each naming its entry and field.
    """
    problems, names, found = Problems(), set[str](), list[Entry]()
    for declaration in declarations:
        if not isinstance(declaration.fields, Mapping):
            told = described(declaration.fields)
            problems.add(declaration.place, f"must be a dict with cron, job and name, not {told}.")
            continue
        reader = _Reader(declaration, problems)
        entry = reader.entry(registry, zone, catch_up)
        if reader.name in names:
            problems.add(reader.label, "the name is used twice; give each entry a name of its own.")
        if reader.name is not None:
            # Also that of an entry with faults: correcting them must not bring this one up.
            names.add(reader.name)
        if entry is not None:
            found.append(entry)
    problems.check()
    return tuple(found)


class _Reader:
    """Reads one declaration, and notes everything that is wrong with it.

    Args:
        declaration: what was written.
        problems: where faults go.
    """

    def __init__(self, declaration: Declaration, problems: Problems) -> None:
        self._fields = declaration.fields
        self._problems = problems
        job = self._fields.get("job")
        self._job: Any = getattr(job, "cogworker_name", job)
        name = self._fields.get("name")
        self._name: Any = self._job if name is None else name
        self.name: str | None = None
        """Once it was checked; None when it is none."""
        self.label = f"{declaration.place} ({described(self._name, 60)})"
        self._sound = True

    def entry(self, registry: Registry[Any], zone: str, catch_up: bool) -> Entry | None:
        """The entry; None when something is wrong with it."""
        for key in self._fields:
            if key not in KEYS:
                self._fault(described(key, 60), f"is no field of an entry: use {', '.join(KEYS)}")
        self.name = self._checked("name", lambda: check_job_name(self._name))
        blueprint = self._blueprint(registry)
        cron = self._checked("cron", lambda: Cron(self._fields.get("cron"), "UTC"))
        given = self._fields.get("timezone")
        zoned = self._checked("timezone", lambda: Cron("* * * * *", zone if given is None else given))
        args, kwargs = self._arguments(blueprint)
        options = {name: self._option(name) for name in OPTIONS if self._fields.get(name) is not None}
        wanted = self._fields.get("catch_up")
        if wanted is not None and type(wanted) is not bool:
            self._fault("catch_up", f"must be True or False, not {described(wanted)}")
        if self.name is None or not self._sound:
            return None
        return Entry(
            name=self.name,
            cron=Cron(cron.expression, zoned.zone),
            job=self._job,
            args=args,
            kwargs=kwargs,
            options=options,
            catch_up=catch_up if wanted is None else wanted,
        )

    def _blueprint(self, registry: Registry[Any]) -> Blueprint | None:
        if not isinstance(self._job, str) or not self._job:
            self._fault("job", f"must be a job or the name of one, not {described(self._job)}")
            return None
        job_class = registry.get(self._job)
        if job_class is None:
            self._fault("job", f"no job is registered under the name {described(self._job)}")
            return None
        blueprint: Blueprint = job_class.cogworker_blueprint
        return blueprint

    def _arguments(self, blueprint: Blueprint | None) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = self._fields.get("args"), self._fields.get("kwargs")
        args, kwargs = [] if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, (list, tuple)):
            self._fault("args", f"must be a list, not {described(args)}")
            return [], {}
        if not isinstance(kwargs, dict):
            self._fault("kwargs", f"must be a dict, not {described(kwargs)}")
            return [], {}
        copied = self._checked("args", lambda: checked(list(args), "args"))
        named = self._checked("kwargs", lambda: checked(kwargs, "kwargs"))
        if blueprint is not None and self._sound:
            self._checked("args", lambda: blueprint.check_call(args, kwargs))
        return copied, named

    def _option(self, name: str) -> Any:
        check = {"queue": check_queue, "retry": check_retry, "unique": check_unique}[name]
        return self._checked(name, lambda: check(self._fields[name]))

    def _checked(self, key: str, step: Any) -> Any:
        try:
            return step()
        except (TypeError, ValueError) as error:
            self._fault(key, error_message(error))
            return None

    def _fault(self, key: str, sentence: str) -> None:
        self._sound = False
        self._problems.add(f"{self.label}: {key}", f"{sentence}.")
