"""Coroutines of jobs and middleware on the one event loop of a process."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from cogworker_django import definition
from cogworker_django.core.errors import JobCancelled, JobTimeout
from cogworker_django.core.middleware import Chain
from cogworker_django.core.outcome import Failed, Interrupted, Outcome, Succeeded
from cogworker_django.core.registry import Registry
from cogworker_django.current import current_job
from cogworker_django.definition import Job, job
from cogworker_django.worker.event_loop import EventLoop
from cogworker_django.worker.runner import Runner

Proceed = Callable[[], Awaitable[Any]]
COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", registry)


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    with closing(EventLoop()) as made:
        yield made


def payload(name: str, *args: Any, **fields: Any) -> dict[str, Any]:
    return {"class": name, "args": list(args), "jid": "j1", "queue": "q", **fields}


def run(item: dict[str, Any], *middleware: Any) -> Outcome:
    chain = Chain([(entry, {}) for entry in middleware])
    with closing(Runner(definition.REGISTRY, chain, lambda: None, lambda: None)) as runner:
        return runner.run(item, "q")


def test_all_coroutines_share_one_loop_and_run_at_the_same_time(loop: EventLoop) -> None:
    everybody = threading.Barrier(5)
    loops: list[object] = []

    async def meet() -> None:
        loops.append(asyncio.get_running_loop())
        while len(loops) < 5:
            await asyncio.sleep(0.001)

    def one() -> None:
        everybody.wait()
        loop.run(meet())

    threads = [threading.Thread(target=one) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(set(map(id, loops))) == 1


def test_what_it_calls_synchronously_runs_on_the_thread_of_its_job(loop: EventLoop) -> None:
    """So the ORM uses the connection of that thread."""

    async def ask() -> tuple[int, int]:
        return threading.get_ident(), await sync_to_async(threading.get_ident)()

    there, here = loop.run(ask())
    assert here == threading.get_ident()
    assert there != here


def test_an_error_is_that_of_the_coroutine(loop: EventLoop) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        loop.run(fail())


def test_context_goes_along_and_the_job_is_known(loop: EventLoop) -> None:
    @job(name="look")
    async def look() -> list[str]:
        running = current_job()
        assert running is not None
        return [running.jid, COLOUR.get(), await sync_to_async(COLOUR.get)()]

    def colouring(_job: Job, _payload: Any, _queue: str, proceed: Callable[[], Any]) -> Any:
        COLOUR.set("blue")
        return proceed()

    assert run(payload("look"), colouring) == Succeeded(["j1", "blue", "blue"])
    COLOUR.set("none")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_middleware_may_be_asynchronous_around_any_job(kind: str) -> None:
    seen: list[object] = []

    class Outer:
        async def __call__(self, job: Job, payload: Any, queue: str, proceed: Proceed) -> Any:
            seen.append("outer")
            result = await proceed()
            seen.append(result)
            return f"{result}!"

    def middle(job: Job, payload: Any, queue: str, proceed: Callable[[], Any]) -> Any:
        seen.append("middle")
        return proceed()

    async def inner(job: Job, payload: Any, queue: str, proceed: Proceed) -> Any:
        COLOUR.set("green")
        await asyncio.sleep(0)
        return await proceed()

    @job(name="sync")
    def plain() -> str:
        seen.append(threading.get_ident())
        return COLOUR.get()

    @job(name="async")
    async def coroutine() -> str:
        seen.append(await sync_to_async(threading.get_ident)())
        return COLOUR.get()

    assert run(payload(kind), Outer, middle, inner) == Succeeded("green!")
    assert seen == ["outer", "middle", threading.get_ident(), "green"]


def test_an_error_passes_through_asynchronous_middleware() -> None:
    seen: list[str] = []

    async def watching(job: Job, payload: Any, queue: str, proceed: Proceed) -> Any:
        try:
            return await proceed()
        except LookupError as error:
            seen.append(str(error))
            raise

    @job(name="fail")
    def fail() -> None:
        raise LookupError("nothing there")

    outcome = run(payload("fail"), watching)
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, LookupError)
    assert seen == ["nothing there"]


def test_asynchronous_middleware_around_a_push_is_refused() -> None:
    async def around(name: str, payload: Any, queue: str, redis: Any, proceed: Proceed) -> Any:
        return await proceed()

    with pytest.raises(TypeError, match="is asynchronous, and there is no event loop here"):
        Chain([(around, {})]).invoke(lambda: None, "name", {}, "q", None)


def test_a_coroutine_that_takes_too_long_is_cancelled_and_may_tidy_up() -> None:
    tidied: list[str] = []

    @job(name="long", timeout=0.05)
    async def long() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            tidied.append("up")

    outcome = run(payload("long", timeout=0.05))
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, JobTimeout)
    assert str(outcome.error) == "it ran longer than 0.05 s"
    assert tidied == ["up"]


def test_the_end_of_the_process_cuts_coroutines_off_whatever_middleware_makes_of_it() -> None:
    begun = threading.Event()

    @job(name="long")
    async def long() -> None:
        begun.set()
        await asyncio.sleep(30)

    def swallowing(_job: Job, _payload: Any, _queue: str, proceed: Callable[[], Any]) -> Any:
        try:
            return proceed()
        except BaseException:  # noqa: BLE001 - that is what is tried here
            return "fine"

    chain = Chain([(swallowing, {})])
    with closing(Runner(definition.REGISTRY, chain, lambda: None, lambda: None)) as runner:
        outcomes: list[Outcome] = []
        thread = threading.Thread(target=lambda: outcomes.append(runner.run(payload("long"), "q")))
        thread.start()
        assert begun.wait(5)
        runner.loop.interrupt()
        thread.join(5)
    assert outcomes == [Interrupted()]


def test_a_job_that_does_not_let_itself_be_cancelled_holds_nobody_up_for_long() -> None:
    begun, over = threading.Event(), threading.Event()

    async def stubborn() -> str:
        begun.set()
        while not over.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "done"

    with closing(EventLoop()) as loop:
        results: list[str] = []
        thread = threading.Thread(target=lambda: results.append(loop.run(stubborn())))
        thread.start()
        assert begun.wait(5)
        began = time.monotonic()
        loop.interrupt()
        assert time.monotonic() - began < 3
        over.set()
        thread.join(5)
    assert results == ["done"]


def test_a_cancelled_job_is_told_apart(loop: EventLoop) -> None:
    begun = threading.Event()

    async def long() -> None:
        begun.set()
        await asyncio.sleep(30)

    errors: list[BaseException] = []

    def running() -> None:
        try:
            loop.run(long(), jid="j7")
        except BaseException as error:  # noqa: BLE001 - it is what is looked at
            errors.append(error)

    thread = threading.Thread(target=running)
    thread.start()
    assert begun.wait(5)
    loop.cancel("j8")
    loop.cancel("j7")
    thread.join(5)
    assert [type(error) for error in errors] == [JobCancelled]


def test_what_a_job_leaves_running_can_call_nothing_synchronous_any_more(loop: EventLoop) -> None:
    left: list[asyncio.Task[int]] = []

    async def leave() -> None:
        async def later() -> int:
            await asyncio.sleep(0.02)
            return await sync_to_async(threading.get_ident)()

        left.append(asyncio.get_running_loop().create_task(later()))

    async def look() -> BaseException | None:
        await asyncio.wait(left)
        return left[0].exception()

    loop.run(leave())
    error = loop.run(look())
    assert isinstance(error, RuntimeError)
    assert "the job is over" in str(error)


def test_a_thread_that_was_called_from_a_coroutine_is_asked_here_and_not_there() -> None:
    """As with a job that is performed inline below an asynchronous view."""

    async def ask() -> int:
        return await sync_to_async(threading.get_ident)()

    def inline() -> tuple[int, int]:
        with closing(EventLoop()) as loop:
            return loop.run(ask()), threading.get_ident()

    async def view() -> tuple[int, int]:
        return await sync_to_async(inline)()

    asked, here = async_to_sync(view)()
    assert asked == here


@pytest.mark.parametrize(("name", "expected"), [("plain", Succeeded("done")), ("long", Interrupted())])
def test_the_end_of_the_process_cuts_off_no_middleware_around_a_plain_job(name: str, expected: Outcome) -> None:
    """What the job comes to must not be lost."""
    begun, go = threading.Event(), threading.Event()

    async def around(_job: Job, _payload: Any, _queue: str, proceed: Proceed) -> Any:
        return await proceed()

    @job(name="plain")
    def plain() -> str:
        begun.set()
        assert go.wait(10)
        return "done"

    @job(name="long")
    async def long() -> None:
        begun.set()
        await asyncio.sleep(30)

    outcomes: list[Outcome] = []
    with closing(Runner(definition.REGISTRY, Chain([(around, {})]), lambda: None, lambda: None)) as runner:
        thread = threading.Thread(target=lambda: outcomes.append(runner.run(payload(name), "q")))
        thread.start()
        assert begun.wait(5)
        runner.loop.interrupt()
        go.set()
        thread.join(5)
    assert outcomes == [expected]
