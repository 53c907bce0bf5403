"""Jobs that wait for the commit of a database transaction (contract 2; cases B106 and B108)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import SimpleTestCase, TestCase, TransactionTestCase, override_settings

from cogworker_django import Job, RedisUnavailable, conf, definition, job, runtime, testing
from cogworker_django.core.registry import Registry
from tests.worker.rigs import messages


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Jobs are kept; nothing listens where Redis is said to be."""
    registry: Registry[type[Job]] = Registry()
    for module in (definition, conf):
        monkeypatch.setattr(module, "REGISTRY", registry)
    runtime.install(conf.build_runtime)
    with override_settings(COGWORKER={"REDIS": "redis://127.0.0.1:1/0"}), testing.fake():
        yield
    runtime.reset()


def noted(**options: Any) -> Any:
    @job(name="note", **options)
    def note(*args: Any) -> None: ...

    return note


class Undone(Exception):
    """Rolls a transaction back."""


def args(note: Any) -> list[Any]:
    return [kept["args"] for kept in note.jobs]


def test_it_is_pushed_after_the_commit_and_its_jid_is_known_before() -> None:
    """Case B106."""
    note = noted()
    with transaction.atomic():
        jid = note.perform_on_commit(1)
        assert isinstance(jid, str)
        assert note.jobs == []
    assert [kept["jid"] for kept in note.jobs] == [jid]


def test_after_a_rollback_it_is_not_pushed() -> None:
    """Case B106: of a savepoint too."""
    note = noted()
    with pytest.raises(Undone), transaction.atomic():
        note.perform_on_commit(1)
        raise Undone
    with transaction.atomic():
        note.perform_on_commit(2)
        with pytest.raises(Undone), transaction.atomic():
            note.perform_on_commit(3)
            raise Undone
        with transaction.atomic():
            note.perform_on_commit(4)
        assert note.jobs == []
    assert args(note) == [[2], [4]]


def test_outside_of_a_transaction_it_is_pushed_at_once() -> None:
    """Case B106; a duplicate is refused at once."""
    note = noted(unique="until_executed")
    assert note.perform_on_commit(1)
    assert note.perform_on_commit(1) is None
    assert args(note) == [[1]]


def test_arguments_are_checked_and_frozen_at_the_call() -> None:
    note = noted()
    changed = [1]
    with transaction.atomic():
        with pytest.raises(TypeError, match=r"args\[0\]"):
            note.perform_on_commit(object())
        note.perform_on_commit(changed)
        changed.append(2)
    assert args(note) == [[[1]]]


def test_the_option_makes_every_push_wait() -> None:
    note = noted(on_commit=True)
    with transaction.atomic():
        jids = [
            note.perform_async(1),
            note.perform_in(60, 2),
            note.perform_at(9e9, 3),
            *note.perform_bulk([(4,), (5,)]),
        ]
        assert None not in jids
        assert note.jobs == []
    assert [kept["jid"] for kept in note.jobs] == jids
    note.clear()
    with transaction.atomic():
        note.set(on_commit=False).perform_async(6)
        assert args(note) == [[6]]


def test_a_call_may_ask_for_it_and_name_a_database() -> None:
    note = noted()
    with transaction.atomic():
        note.set(on_commit="default").perform_async(1)
        note.set(on_commit=True).perform_async(2)
        assert note.jobs == []
    assert sorted(args(note)) == [[1], [2]]


def test_a_refusal_after_the_commit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    note = noted(unique="until_executed")
    with transaction.atomic():
        first, second = note.perform_on_commit(1), note.perform_on_commit(1)
        assert first != second
    assert [kept["jid"] for kept in note.jobs] == [first]
    assert f"note jid={second} was refused after the commit: one like it waits or runs" in messages(caplog)


def test_a_push_that_fails_after_the_commit_is_logged_and_raises(caplog: pytest.LogCaptureFixture) -> None:
    note = noted()
    with testing.disable(), pytest.raises(RedisUnavailable), transaction.atomic():
        jid = note.perform_on_commit(1)
    assert any(
        f"note jid={jid} could not be pushed after the commit: RedisUnavailable" in line for line in messages(caplog)
    )


def test_a_robust_push_that_fails_after_the_commit_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    note = noted()
    with testing.disable(), transaction.atomic():
        runtime.current().client.enqueue_on_commit(note.cogworker_blueprint, (1,), {}, robust=True)
    assert any("could not be pushed after the commit" in line for line in messages(caplog))


def test_asynchronous_code_pushes_at_once() -> None:
    note = noted()
    assert asyncio.run(note.aperform_on_commit(1))
    assert args(note) == [[1]]


def run(case: type[SimpleTestCase]) -> None:
    """Runs a Django test and lets its failure through."""
    case("test").debug()


def test_in_a_test_case_the_commit_is_shown_by_djangos_own_helper() -> None:
    """Case B108: exactly one job."""
    note = noted()

    class Case(TestCase):
        def test(self) -> None:
            note.perform_on_commit(1)
            assert note.jobs == []
            with self.captureOnCommitCallbacks(execute=True):
                note.perform_on_commit(2)
            assert args(note) == [[2]]

    run(Case)


def test_in_a_test_case_fake_mode_can_do_without_the_commit() -> None:
    """Case B108."""
    note = noted()

    class Case(TestCase):
        def test(self) -> None:
            with testing.fake(on_commit="immediate"):
                note.perform_on_commit(1)
                assert args(note) == [[1]]
            note.perform_on_commit(2)
            assert note.jobs == []

    run(Case)


def test_in_a_transaction_test_case_the_commit_comes() -> None:
    """Case B108."""
    note = noted()

    class Case(TransactionTestCase):
        def _fixture_teardown(self) -> None:
            """Nothing was written."""

        def test(self) -> None:
            with transaction.atomic():
                note.perform_on_commit(1)
            assert args(note) == [[1]]

    run(Case)


def test_another_wish_than_immediate_is_refused() -> None:
    with pytest.raises(ValueError, match="on_commit must be"):
        testing.fake(on_commit="later")
