"""The onion: middleware around a push or a run (Contract 3, Reference 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Entry = tuple[Callable[..., Any], Mapping[str, Any]]


class Chain:
    """Middleware entries in order, the first one outermost.

    A class is instantiated with its keyword arguments for each invocation and the instance is called; a
    function is called with its keyword arguments. Both get the positional arguments of the invocation and
    ``proceed``.

    Args:
        entries: pairs of a class or function and its keyword arguments.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = tuple((target, dict(kwargs)) for target, kwargs in entries)
        for target, _ in self._entries:
            if not callable(target):
                raise TypeError(f"middleware {target!r} is neither a class nor a function")
        self.empty = not self._entries

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries as given."""
        return self._entries

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
        if isinstance(target, type):
            return target(**kwargs)(*args, proceed)
        return target(*args, proceed, **kwargs)

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
