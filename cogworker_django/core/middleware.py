"""The onion: middleware around a push or a run (Contract 3, Reference 6)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any, Protocol

Entry = tuple[Callable[..., Any], Mapping[str, Any]]


class Bridge(Protocol):
    """The way from a thread to an event loop and back."""

    def run(self, coroutine: Coroutine[Any, Any, Any], /) -> Any:
        """Run a coroutine to its end, while the thread waits."""
        ...

    def ahead(self, proceed: Callable[[], Any], /) -> Callable[[], Coroutine[Any, Any, Any]]:
        """Make of a step on the thread one that a coroutine awaits."""
        ...


class Chain:
    """Middleware entries in order, the first one outermost.

    A class is instantiated with its keyword arguments for each invocation and the instance is called; a
    function is called with its keyword arguments. Both get the positional arguments of the invocation and
    ``proceed``. What is asynchronous runs on an event loop and awaits ``proceed()``.

    Args:
        entries: pairs of a class or function and its keyword arguments.
        bridge: to the event loop, for middleware that is asynchronous.

    Raises:
        TypeError: a middleware is neither a class nor a function.
    """

    def __init__(self, entries: Iterable[Entry] = (), bridge: Bridge | None = None) -> None:
        self._bridge = bridge
        self._entries = tuple((target, dict(kwargs)) for target, kwargs in entries)
        for target, _ in self._entries:
            if not callable(target):
                raise TypeError(f"middleware {target!r} is neither a class nor a function")
        self._asynchronous = [is_asynchronous(target) for target, _ in self._entries]
        self.empty = not self._entries

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries as given."""
        return self._entries

    def over(self, bridge: Bridge) -> Chain:
        """Make the same chain with a way to an event loop."""
        return Chain(self._entries, bridge)

    def invoke(self, final: Callable[[], Any], *args: Any) -> Any:
        """Call the middleware around a step.

        Args:
            final: the innermost step; reached only if every middleware proceeds.
            args: what each middleware gets before ``proceed``.

        Returns:
            What the outermost middleware returned; without middleware, what ``final`` returned.

        Raises:
            RuntimeError: a middleware called ``proceed()`` a second time.
        """
        if self.empty:
            return final()
        return self._enter(0, final, args)

    def _enter(self, index: int, final: Callable[[], Any], args: tuple[Any, ...]) -> Any:
        if index == len(self._entries):
            return final()
        target, kwargs = self._entries[index]
        proceed = self._proceed(index, final, args)
        if self._asynchronous[index]:
            return self._await(target, kwargs, args, proceed)
        if isinstance(target, type):
            return target(**kwargs)(*args, proceed)
        return target(*args, proceed, **kwargs)

    def _await(
        self, target: Callable[..., Any], kwargs: dict[str, Any], args: tuple[Any, ...], proceed: Callable[[], Any]
    ) -> Any:
        if self._bridge is None:
            raise TypeError(f"middleware {target!r} is asynchronous, and there is no event loop here")
        ahead = self._bridge.ahead(proceed)
        if isinstance(target, type):
            return self._bridge.run(target(**kwargs)(*args, ahead))
        return self._bridge.run(target(*args, ahead, **kwargs))

    def _proceed(self, index: int, final: Callable[[], Any], args: tuple[Any, ...]) -> Callable[[], Any]:
        done = False

        def proceed() -> Any:
            nonlocal done
            if done:
                name = getattr(self._entries[index][0], "__qualname__", "a middleware")
                raise RuntimeError(f"middleware {name} called proceed() twice; it may go on only once")
            done = True
            return self._enter(index + 1, final, args)

        return proceed


def is_asynchronous(target: Callable[..., Any]) -> bool:
    """Tell whether a middleware is a coroutine function, or a class whose instances are called like one."""
    return iscoroutinefunction(target) or (isinstance(target, type) and iscoroutinefunction(target.__call__))
