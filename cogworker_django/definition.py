"""Defining jobs: `Job`, `@job`, and what both offer to those who enqueue them (Contract 2)."""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from cogworker_django.core.arguments import checked
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.names import check_job_name
from cogworker_django.core.options import JobOptions, refuse_attributes
from cogworker_django.core.registry import Registry
from cogworker_django.core.signature import CallCheck, CallSignature, accept_any, perform_signature, refuse_all
from cogworker_django.core.state import STATUS_FIELDS
from cogworker_django.core.text import described
from cogworker_django.pusher import Enqueuing, Pusher

Function = TypeVar("Function", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
# Takes what a running job reports about itself: the fields of one `at` or `store`.
Reporter = Callable[[Mapping[str, Any]], None]

# Names of `Job` that the worker calls: a job with one of its own would break there, far from its definition.
ENGINE_NAMES = ("start", "has_retry_in", "has_retries_exhausted")
HOOKS = ("retry_in", "retries_exhausted")


class _HasHook:
    """Tells whether a job class has a hook at the moment: a parent may get its hook later."""

    def __init__(self, hook: str) -> None:
        self._hook = hook

    def __get__(self, instance: object, owner: type) -> bool:
        return callable(getattr(owner, self._hook, None))


def silent(fields: Mapping[str, Any]) -> None:
    """Report to nobody: the job was called outside a worker."""


class Job(Enqueuing):
    """A job: a subclass defines ``perform``, and its class methods enqueue it.

    Class keywords are its options: ``queue``, ``retry``, ``unique``, ``on_commit``, ``name``, ``aliases``;
    further ones ride along in the payload. All but ``name`` and ``aliases`` are inherited (Contract 2). A
    class without ``perform`` is a base for others and is not registered.

    A subclass may define ``retry_in(self, count, exception, payload)``, which returns seconds, None,
    ``"kill"`` or ``"discard"``, and ``retries_exhausted(self, payload, exception)``; both may take fewer
    arguments.
    """

    cogworker_blueprint: ClassVar[Blueprint]
    """What all of its pushes have in common."""
    cogworker_name: ClassVar[str]
    """The name in its payloads."""
    cogworker_aliases: ClassVar[tuple[str, ...]] = ()
    """Earlier names under which it still runs."""
    cogworker_options: ClassVar[JobOptions] = JobOptions()
    """Its checked options."""
    has_retry_in: ClassVar = _HasHook("retry_in")
    """Whether it has a ``retry_in`` hook."""
    has_retries_exhausted: ClassVar = _HasHook("retries_exhausted")
    """Whether it has a ``retries_exhausted`` hook."""

    retry_in: Callable[..., Any]
    retries_exhausted: Callable[..., Any]

    jid: str = ""
    """The job's id, inside a run."""
    payload: Mapping[str, Any] = types.MappingProxyType({})
    """The whole payload, inside a run."""
    worker_id: str = ""
    """The identity of the process that runs it, inside a run."""
    cancelled: bool = False
    """Whether somebody has cancelled the job while it runs: it may end by itself, or raise `JobCancelled`."""
    _cogworker_reporter: Reporter = staticmethod(silent)

    def __init_subclass__(cls, *, name: str | None = None, aliases: Iterable[str] = (), **options: Any) -> None:
        """Check the options and register the class; raises TypeError or ValueError for a wrong option."""
        super().__init_subclass__()
        for taken in ENGINE_NAMES:
            if taken in cls.__dict__:
                raise TypeError(f"{cls.__qualname__}.{taken}: the name belongs to Job, choose another one")
        _check_hooks(cls)
        refuse_attributes(cls.__qualname__, cls.__dict__)
        cls.cogworker_name = check_job_name(f"{cls.__module__}.{cls.__qualname__}" if name is None else name)
        cls.cogworker_aliases = _checked_aliases(aliases)
        cls.cogworker_options = cls.cogworker_options.merged(**options)
        cls.cogworker_blueprint = Blueprint.of(cls.cogworker_name, cls.cogworker_options, _call_check(cls))
        if cls.perform is not Job.perform:
            REGISTRY.add(cls.cogworker_name, cls.cogworker_aliases, cls)

    def perform(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work; defined by each job, as a method or a coroutine method.

        Args:
            args: what was pushed.
            kwargs: what was pushed.

        Returns:
            The job's result.
        """
        raise NotImplementedError(f"{self.cogworker_name} has no perform method")

    def at(self, percent: float, message: str | None = None) -> None:
        """Report progress; outside a worker nothing happens.

        Args:
            percent: how far the job is.
            message: what it is doing.

        Raises:
            TypeError: an argument of a wrong type.
            ValueError: the percentage is not finite, or the message cannot be stored.
        """
        if isinstance(percent, bool) or not isinstance(percent, (int, float)):
            raise TypeError(f"percent must be a number, not {described(percent)}")
        if not math.isfinite(percent):
            raise ValueError(f"percent must be a finite number, not {percent}")
        if message is not None and not isinstance(message, str):
            raise TypeError(f"message must be a string, not {described(message)}")
        self._cogworker_reporter({"pct": checked(percent, "percent"), "message": checked(message, "message")})

    def store(self, **fields: Any) -> None:
        """Keep values beside the job's status; outside a worker nothing happens.

        Args:
            fields: names and values that JSON can carry.

        Raises:
            TypeError: a value of a type JSON does not know; the message names the field.
            ValueError: a value JSON cannot carry, or a name that the status itself uses.
        """
        taken = sorted(STATUS_FIELDS & fields.keys())
        if taken:
            raise ValueError(f"{taken[0]} is a field of the status itself: choose another name")
        self._cogworker_reporter({name: checked(value, name) for name, value in fields.items()})

    @classmethod
    def start(cls, payload: Mapping[str, Any], reporter: Reporter = silent) -> Self:
        """Make the instance for one run; for the worker.

        Args:
            payload: the job.
            reporter: takes what the job reports.
        """
        job = cls()
        job.jid = payload["jid"]
        job.payload = payload
        job._cogworker_reporter = reporter
        return job


# The jobs of this process: here, since class bodies run before there is a runtime, which is handed it later.
REGISTRY: Registry[type[Job]] = Registry()


class FunctionJob(Pusher[P], Generic[P, R]):
    """A function that is a job: calling it runs it, its methods enqueue it. Made by `job`.

    Args:
        function: the function.
        job_class: the class that runs it in a worker.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R]

    def __init__(self, function: Callable[P, R], job_class: type[Job]) -> None:
        super().__init__(job_class.cogworker_blueprint)
        functools.update_wrapper(self, function)
        self._function = function
        self.job_class = job_class
        self.cogworker_name = job_class.cogworker_name
        self.cogworker_options = job_class.cogworker_options

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here and now."""
        return self._function(*args, **kwargs)

    def retry_in(self, hook: Function) -> Function:
        """Decorate the hook ``(count, exception, payload)`` that decides about retries; see `Job`."""
        return self._hooked("retry_in", hook)

    def retries_exhausted(self, hook: Function) -> Function:
        """Decorate the hook ``(payload, exception)`` that is told of the job's death; see `Job`."""
        return self._hooked("retries_exhausted", hook)

    def _hooked(self, name: str, hook: Function) -> Function:
        if not callable(hook):
            raise TypeError(f"{self.cogworker_name}.{name} decorates a function, not {described(hook)}")
        setattr(self.job_class, name, staticmethod(hook))
        return hook

    def __reduce__(self) -> str:
        """Pickle by name, as functions are."""
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<job {self.cogworker_name}>"


class JobDecorator(Protocol):
    """What ``@job(…)`` with options is."""

    def __call__(self, function: Callable[P, R], /) -> FunctionJob[P, R]:
        """Make a function a job."""
        ...


@overload
def job(function: Callable[P, R], /) -> FunctionJob[P, R]: ...
@overload
def job(**options: Any) -> JobDecorator: ...
def job(function: Callable[..., Any] | None = None, /, **options: Any) -> FunctionJob[..., Any] | JobDecorator:
    """Make a function a job: ``@job`` or ``@job(queue="mail")``.

    Args:
        function: a function or coroutine function at the top level of a module.
        options: as the class keywords of `Job`.

    Returns:
        The job, callable as the function was.

    Raises:
        TypeError: an option has a wrong type, or what is decorated is no function.
        ValueError: an option has a wrong value.
    """
    if function is None:
        return functools.partial(_function_job, options=options)
    return _function_job(function, options=options)


def _function_job(function: Callable[P, R], *, options: dict[str, Any]) -> FunctionJob[P, R]:
    if isinstance(function, (type, FunctionJob)) or not hasattr(function, "__qualname__"):
        raise TypeError(f"@job decorates a function, not {described(function)}: a class derives from Job")
    if function.__name__ == "<lambda>" and "name" not in options:
        # Every lambda of a module has the same name: the last one would run for all.
        raise TypeError('a lambda has no name of its own: give the job one with name="..."')
    body = {
        "perform": staticmethod(function),
        "__module__": function.__module__,
        "__qualname__": function.__qualname__,
        "__doc__": function.__doc__,
    }
    job_class = types.new_class(function.__name__, (Job,), options, lambda namespace: namespace.update(body))
    return FunctionJob(function, job_class)


def _check_hooks(job_class: type[Job]) -> None:
    """Refuse a number where a hook is meant, which would be passed over in silence; None takes a parent's away."""
    for name in HOOKS:
        hook = getattr(job_class, name, None)
        if hook is not None and not callable(hook):
            raise TypeError(f"{job_class.__qualname__}.{name}: a hook is a method, not {described(hook)}")


def _checked_aliases(aliases: Iterable[str]) -> tuple[str, ...]:
    if isinstance(aliases, str):
        raise TypeError(f'aliases must be a tuple of names, not one string: write aliases=("{aliases}",)')
    return tuple(check_job_name(alias) for alias in aliases)


def _call_check(job_class: type[Job]) -> CallCheck:
    """Make the check of calls, once, at the definition."""
    if job_class.perform is Job.perform:
        return refuse_all(job_class.cogworker_name)
    signature = perform_signature(job_class.cogworker_name, job_class.perform)
    if signature is None:
        return accept_any
    defined = inspect.getattr_static(job_class, "perform")
    if not isinstance(defined, (staticmethod, classmethod)):
        parameters = list(signature.parameters.values())
        if parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            signature = signature.replace(parameters=parameters[1:])
    return CallSignature(job_class.cogworker_name, signature).check
