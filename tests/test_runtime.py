from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest

from cogworker_django import runtime
from cogworker_django.client import JobClient
from cogworker_django.core.config import Config
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.middleware import Chain
from cogworker_django.core.registry import Registry
from cogworker_django.runtime import Runtime
from cogworker_django.store.store import Store
from tests.memory import MemoryDispatcher


def built() -> Runtime:
    return Runtime(
        config=Config(),
        registry=Registry(),
        store=Store(Config()),
        client=JobClient(MemoryDispatcher(), registry=Registry()),
        server_chain=Chain(),
        death_handlers=(),
    )


@pytest.fixture(autouse=True)
def fresh_holder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(runtime, "_HOLDER", type(runtime._HOLDER)())
    yield


def exit_status_of_child(check: Callable[[], bool]) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if check() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_before_the_set_up_there_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="INSTALLED_APPS"):
        runtime.current()


def test_the_runtime_is_built_when_first_needed_and_once() -> None:
    calls: list[int] = []

    def factory() -> Runtime:
        calls.append(1)
        return built()

    runtime.install(factory)
    assert calls == []
    assert runtime.current() is runtime.current()
    assert calls == [1]


def test_threads_that_need_it_at_once_get_the_same() -> None:
    start, found = threading.Barrier(8), []
    building = threading.Event()

    def factory() -> Runtime:
        building.wait(0.05)
        return built()

    def ask() -> None:
        start.wait()
        found.append(runtime.current())

    runtime.install(factory)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(one) for one in found}) == 1


def test_after_a_reset_it_is_built_anew() -> None:
    runtime.install(built)
    first = runtime.current()
    runtime.reset()
    assert runtime.current() is not first


def test_another_factory_replaces_the_runtime() -> None:
    runtime.install(built)
    first = runtime.current()
    other = built()
    runtime.install(lambda: other)
    assert runtime.current() is other is not first


def test_a_factory_that_fails_is_asked_again() -> None:
    answers: list[Runtime] = []

    def factory() -> Runtime:
        if not answers:
            answers.append(built())
            raise ConfigurationError(["REDIS: wrong."])
        return answers[0]

    runtime.install(factory)
    with pytest.raises(ConfigurationError):
        runtime.current()
    assert runtime.current() is answers[0]


def test_a_child_process_builds_its_own() -> None:
    runtime.install(built)
    first = runtime.current()
    assert exit_status_of_child(lambda: runtime.current() is not first) == 0
    assert runtime.current() is first


def test_a_child_is_not_stuck_on_a_lock_that_a_thread_of_its_parent_held() -> None:
    held, done = threading.Event(), threading.Event()

    def factory() -> Runtime:
        if threading.current_thread() is not threading.main_thread():
            held.set()
            done.wait(10)
        return built()

    runtime.install(factory)
    thread = threading.Thread(target=runtime.current)
    thread.start()
    held.wait(10)
    status = exit_status_of_child(lambda: isinstance(runtime.current(), Runtime))
    done.set()
    thread.join()
    assert status == 0
