from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from cogworker_django import Client, Job, job
from tests.memory import MemoryDispatcher, memory_runtime

TENANT: ContextVar[str] = ContextVar("tenant", default="nobody")


class PushedJob(Job, queue="low", retry=5, team="a"):
    def perform(self, user_id: int, *, kind: str = "pdf") -> None: ...


@job(queue="low", retry=5, team="a")
def pushed(user_id: int, *, kind: str = "pdf") -> None: ...


class DelayJob(Job):
    def perform(self, delay: int, *, when: int = 0, cls: int = 0, self_: int = 0) -> None: ...


# A job class, a job function and a setter offer the same methods.
PUSHERS = [PushedJob, pushed, PushedJob.set(), pushed.set()]


@pytest.fixture
def dispatcher() -> Iterator[MemoryDispatcher]:
    with memory_runtime() as dispatcher:
        yield dispatcher


@pytest.mark.parametrize("pusher", PUSHERS, ids=["class", "function", "set of class", "set of function"])
class TestEveryPusher:
    def test_enqueues_now_later_at_a_time_and_in_bulk(self, pusher: Any, dispatcher: MemoryDispatcher) -> None:
        jids = [
            pusher.perform_async(7, kind="csv"),
            pusher.perform_in(300, 7),
            pusher.perform_at(4_000_000_000, 7),
            *pusher.perform_bulk([(7,), (8,)]),
        ]
        pushes = dispatcher.pushes
        assert [push.payload["jid"] for push in pushes] == jids
        assert [push.payload["args"] for push in pushes] == [[7], [7], [7], [7], [8]]
        assert [push.delay for push in pushes] == [None, 300.0, None, None, None]
        assert [push.at for push in pushes] == [None, None, 4_000_000_000.0, None, None]
        assert pushes[0].payload["kwargs"] == {"kind": "csv"}
        assert {(push.payload["queue"], push.payload["retry"], push.payload["team"]) for push in pushes} == {
            ("low", 5, "a")
        }

    def test_has_asynchronous_twins(self, pusher: Any, dispatcher: MemoryDispatcher) -> None:
        async def push() -> list[Any]:
            return [
                await pusher.aperform_async(7, kind="csv"),
                await pusher.aperform_in(300, 7),
                await pusher.aperform_at(4_000_000_000, 7),
                *await pusher.aperform_bulk([(7,), (8,)]),
            ]

        jids = asyncio.run(push())
        assert [push.payload["jid"] for push in dispatcher.pushes] == jids
        assert [push.delay for push in dispatcher.pushes] == [None, 300.0, None, None, None]

    def test_can_be_set_to_other_options_for_a_call(self, pusher: Any, dispatcher: MemoryDispatcher) -> None:
        pusher.set(queue="high", retry=0, colour="red", on_commit="replica").perform_async(7)
        pusher.set(queue="high").set(retry=1).perform_async(7)
        pusher.perform_async(7)
        changed, twice, plain = (push.payload for push in dispatcher.pushes)
        assert (changed["queue"], changed["retry"], changed["colour"]) == ("high", 0, "red")
        assert "on_commit" not in changed
        assert (twice["queue"], twice["retry"]) == ("high", 1)
        assert (plain["queue"], plain["retry"], "colour" in plain) == ("low", 5, False)

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"queue": "two words"}, ValueError),
            ({"retry": "5"}, TypeError),
            ({"unique": True}, ValueError),
            ({"on_commit": 5}, TypeError),
            ({"jid": "x"}, ValueError),
            ({"args": []}, ValueError),
            ({"name": "x"}, TypeError),
            ({"aliases": ()}, TypeError),
        ],
    )
    def test_refuses_wrong_options_at_once(self, pusher: Any, options: dict[str, Any], error: type[Exception]) -> None:
        with pytest.raises(error, match=next(iter(options))):
            pusher.set(**options)

    def test_refuses_a_call_that_perform_does_not_take(self, pusher: Any, dispatcher: MemoryDispatcher) -> None:
        attempts: list[Callable[[], object]] = [
            lambda: pusher.perform_async(),
            lambda: pusher.perform_in(5, 1, 2),
            lambda: pusher.perform_at(5, 1, colour="red"),
            lambda: pusher.perform_bulk([(1,), (1, 2)]),
            lambda: asyncio.run(pusher.aperform_async()),
        ]
        for attempt in attempts:
            with pytest.raises(TypeError, match=r"tests\.test_pusher\.[pP]ushed(Job)?\.perform: "):
                attempt()
        assert dispatcher.calls == []


def test_jobs_may_have_arguments_with_the_names_of_ours(dispatcher: MemoryDispatcher) -> None:
    DelayJob.perform_in(5, delay=1, when=2, cls=3)
    DelayJob.perform_at(5, delay=1, when=2, cls=3)
    DelayJob.perform_async(delay=1, when=2, cls=3)
    expected = {"delay": 1, "when": 2, "cls": 3}
    assert [push.payload["kwargs"] for push in dispatcher.pushes] == [expected] * 3


def test_a_delay_cannot_be_given_by_keyword(dispatcher: MemoryDispatcher) -> None:
    with pytest.raises(TypeError):
        DelayJob.perform_in(delay=5)  # type: ignore[call-arg]  # what the test is about
    assert dispatcher.calls == []


def test_asynchronous_pushes_leave_the_event_loops_thread_and_keep_its_context(
    dispatcher: MemoryDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, str]] = []
    original = dispatcher.push

    def push(pushes: Any) -> list[str | None]:
        seen.append((threading.current_thread() is threading.main_thread(), TENANT.get()))
        return original(pushes)

    async def main() -> None:
        TENANT.set("acme")
        await PushedJob.aperform_async(7)
        await Client.apush({"class": "other.Job"})

    monkeypatch.setattr(dispatcher, "push", push)
    asyncio.run(main())
    assert seen == [(False, "acme"), (False, "acme")]


def test_the_client_pushes_items_one_by_one_and_in_bulk(dispatcher: MemoryDispatcher) -> None:
    item = {"class": "demo.jobs.ReportJob", "args": [7], "queue": "low"}
    jids = [Client.push(item), *Client.push_bulk([item, item])]
    jids += [asyncio.run(Client.apush(item)), *asyncio.run(Client.apush_bulk([item]))]
    assert [push.payload["jid"] for push in dispatcher.pushes] == jids
    assert {push.payload["queue"] for push in dispatcher.pushes} == {"low"}


@pytest.mark.parametrize("given", [PushedJob, pushed, "tests.test_pusher.PushedJob"])
def test_the_client_takes_a_job_or_its_name_and_its_options(dispatcher: MemoryDispatcher, given: object) -> None:
    Client.push({"class": given, "args": [7], "retry": False})
    payload = dispatcher.pushes[0].payload
    assert payload["class"].startswith("tests.test_pusher.")
    assert (payload["queue"], payload["retry"], payload["team"]) == ("low", False, "a")
    with pytest.raises(TypeError, match="missing a required argument"):
        Client.push({"class": given})
