"""Functions that tests make tasks of: the framework wants them at the level of a module."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

seen: list[Any] = []
go = threading.Event()


class Trouble(Exception):
    """An error that is not a builtin."""


class Codes:
    class Inner(ValueError):
        """Its path has more than one name after the module."""


def add(first: int, second: int = 1) -> int:
    return first + second


def note(value: Any = None) -> None:
    seen.append(value)


def give(value: Any) -> Any:
    return value


def fail(times: int = 10**6) -> str:
    seen.append("fail")
    if len(seen) <= times:
        raise Trouble("no such luck")
    return "at last"


def fail_inside() -> None:
    raise Codes.Inner("two\nlines")


def fail_builtin() -> None:
    raise KeyError("key")


def odd() -> Any:
    seen.append("odd")
    return {"a": object()}


def wait() -> str:
    seen.append("wait")
    assert go.wait(20)
    return "done"


def loop() -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        pass


async def sleep() -> None:
    await asyncio.sleep(20)


def with_context(context: Any, value: int) -> list[Any]:
    seen.append(context)
    return [context.attempt, value, context.task_result.status]


async def slowly(value: int) -> int:
    await asyncio.sleep(0)
    return 2 * value


async def fail_slowly() -> None:
    await asyncio.sleep(0)
    raise Trouble("asleep")
