"""The event loop of a process, on a thread of its own: the coroutines of all its jobs run on it, at the same time.

A job keeps its thread while its coroutine runs: the thread does what the coroutine needs done synchronously, so the ORM
inside an asynchronous job uses that thread's database connection, which is cared for like that of any job. asgiref, on
which Django's own asynchronous side is built, sends such calls to the executor that it knows for the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

from asgiref.sync import AsyncToSync, sync_to_async

from cogworker_django.core.errors import JobCancelled, JobTimeout

LAST_WORDS = 1.0
"""Seconds that cancelled coroutines have to end."""


class CutOff(BaseException):
    """The process ends, and the coroutine was cancelled for that: its job goes back to its queue."""


class Mailbox:
    """What a thread is asked to do while it waits for its coroutine."""

    def __init__(self) -> None:
        self._steps: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._closed = False

    def ask(self, call: Callable[[], Any]) -> Future[Any]:
        """Have the thread call something.

        Raises:
            RuntimeError: the thread does not wait any more.
        """
        if self._closed:
            raise RuntimeError("the job is over: what it has left running can call nothing synchronous any more")
        future: Future[Any] = Future()
        self._steps.put(partial(_call, future, call))
        return future

    def serve(self) -> None:
        """Do what comes, on the thread, until it is closed."""
        while (step := self._steps.get()) is not None:
            step()

    def close(self) -> None:
        """Let the thread go."""
        self._closed = True
        self._steps.put(None)


def _call(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it belongs to who has asked
        future.set_exception(error)
    else:
        future.set_result(result)


_MAILBOX: contextvars.ContextVar[Mailbox] = contextvars.ContextVar("cogworker_mailbox")


_executors: dict[Any, Any] = AsyncToSync.loop_thread_executors


class ThreadOfTheJob(Executor):
    """Sends what a coroutine wants done synchronously to the thread of its job."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it done; raises as `Mailbox.ask`."""
        return _MAILBOX.get().ask(partial(fn, *args, **kwargs))


class Errand:
    """One coroutine, and the thread that waits for it."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None, jid: str) -> None:
        self.jid = jid
        self.cancelled = False
        """Whether somebody has cancelled the job."""
        self.mailbox = Mailbox()
        self.task: asyncio.Task[Any] | None = None
        self.interrupted = False
        self.timeout = timeout
        self.late = False
        """Whether its time was over."""
        self.context = contextvars.copy_context()
        self.context.run(self._settle_in)
        self.coroutine = coroutine

    def _settle_in(self) -> None:
        _MAILBOX.set(self.mailbox)
        # A thread that was itself called from a coroutine would be asked by that way, and it waits here.
        if getattr(AsyncToSync.executors, "current", None) is not None:
            AsyncToSync.executors.current = None

    def end(self) -> None:
        """It has ended; on the loop."""
        # One that was cancelled before its first step was never begun, of which Python would warn.
        self.coroutine.close()
        self.mailbox.close()

    def expire(self) -> None:
        """Its time is over; on the loop."""
        self.late = True
        if self.task is not None:
            self.task.cancel()

    def result(self) -> Any:
        """What it came to, once it has ended.

        Raises:
            CutOff: it was cancelled since the process ends.
            JobTimeout: it was cancelled since its time was over.
            JobCancelled: somebody has cancelled it.
        """
        assert self.task is not None
        try:
            return self.task.result()
        except asyncio.CancelledError:
            if self.interrupted:
                raise CutOff from None
            if self.cancelled:
                raise JobCancelled("it was cancelled while it ran") from None
            if self.late:
                raise JobTimeout(f"it ran longer than {self.timeout:g} s") from None
            raise


class EventLoop:
    """Runs coroutines; its thread starts with the first one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._new: deque[Errand] = deque()
        self._running: set[Errand] = set()
        self._awake = False

    def run(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None = None, jid: str = "") -> Any:
        """Run a coroutine to its end, while this thread does what it asks for.

        Args:
            coroutine: it; context variables are those of the caller.
            timeout: seconds after which it is cancelled.
            jid: of the job whose coroutine it is, by which it can be cancelled; empty for a middleware's.

        Returns:
            What it returned.

        Raises:
            CutOff: the process ends, and it was cancelled for that.
            JobTimeout: it was cancelled since its time was over.
            JobCancelled: somebody has cancelled it.
        """
        errand = Errand(coroutine, timeout, jid)
        loop = self._loop or self._start()
        self._new.append(errand)
        if not self._awake:
            # One call for all that come until it is answered.
            self._awake = True
            loop.call_soon_threadsafe(self._begin_new)
        errand.mailbox.serve()
        return errand.result()

    def ahead(self, proceed: Callable[[], Any]) -> Callable[[], Coroutine[Any, Any, Any]]:
        """Make what an asynchronous middleware awaits: the rest of its chain runs on the job's thread.

        Args:
            proceed: goes on.
        """
        return sync_to_async(proceed, thread_sensitive=True)

    def cancel(self, jid: str) -> None:
        """Cancel the coroutine of a job, if it runs."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel, jid)

    def interrupt(self) -> None:
        """Cancel the jobs and wait a moment for their end: the process ends, and they go back. Not middleware: the job
        inside of it may be one that cannot be cancelled, and what it comes to must not be lost.
        """
        loop = self._loop
        if loop is None or not self._running:
            return
        done = threading.Event()
        loop.call_soon_threadsafe(self._cancel_all, done)
        done.wait(LAST_WORDS)

    def close(self) -> None:
        """End the thread, if there is one."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LAST_WORDS)
        if not self._thread.is_alive():
            self._loop.close()
        _executors.pop(self._loop, None)
        self._loop = None

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                _executors[loop] = ThreadOfTheJob()
                self._thread = threading.Thread(target=loop.run_forever, name="cogworker-asyncio", daemon=True)
                self._thread.start()
                self._loop = loop
            return self._loop

    # -- on the loop's thread ------------------------------------------------------------------------

    def _begin_new(self) -> None:
        self._awake = False
        while self._new:
            self._begin(self._new.popleft())

    def _begin(self, errand: Errand) -> None:
        loop = asyncio.get_running_loop()
        errand.task = loop.create_task(errand.coroutine, context=errand.context)
        self._running.add(errand)
        timer = None if errand.timeout is None else loop.call_later(errand.timeout, errand.expire)

        def ended(_task: asyncio.Task[Any]) -> None:
            if timer is not None:
                timer.cancel()
            self._running.discard(errand)
            errand.end()

        errand.task.add_done_callback(ended)

    def _cancel(self, jid: str) -> None:
        for errand in self._running:
            if errand.jid == jid and errand.task is not None:
                errand.cancelled = True
                errand.task.cancel()

    def _cancel_all(self, done: threading.Event) -> None:
        tasks = []
        for errand in self._running:
            if errand.jid and errand.task is not None:
                errand.interrupted = True
                errand.task.cancel()
                tasks.append(errand.task)

        async def wait() -> None:
            if tasks:
                await asyncio.wait(tasks, timeout=LAST_WORDS)
            done.set()

        self._last = asyncio.get_running_loop().create_task(wait())
