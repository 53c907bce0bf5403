from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ClassVar

import pytest

from cogworker_django import Job, current_job, definition, job
from cogworker_django.core.hooks import call_with_fitting
from cogworker_django.core.registry import Registry
from cogworker_django.current import running
from cogworker_django.definition import FunctionJob
from tests.memory import MemoryDispatcher, memory_runtime


def takes_nothing() -> None: ...


PAYLOAD = {"class": "x", "args": [], "jid": "a" * 24, "queue": "default"}


@job
def plain(number: int, *, double: bool = False) -> int:
    """Give the number back."""
    return number * 2 if double else number


@job(queue="mail", retry=3, name="receipts", aliases=("old.receipts",))
async def coroutine(number: int) -> int:
    return number


class ReportJob(Job, queue="low", retry=5, team="a"):
    def perform(self, user_id: int) -> dict[str, int]:
        return {"rows": user_id}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[type[Job]]:
    registry: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", registry)
    return registry


@pytest.fixture
def dispatcher(registry: Registry[type[Job]]) -> Iterator[MemoryDispatcher]:
    with memory_runtime() as dispatcher:
        yield dispatcher


class TestOptions:
    def test_the_name_is_module_and_qualified_name(self) -> None:
        assert ReportJob.cogworker_name == "tests.test_definition.ReportJob"
        assert plain.cogworker_name == "tests.test_definition.plain"
        assert definition.REGISTRY.resolve("tests.test_definition.ReportJob") is ReportJob
        assert definition.REGISTRY.resolve("tests.test_definition.plain") is plain.job_class

    def test_a_name_of_its_own_and_old_names_can_be_given(self) -> None:
        assert coroutine.cogworker_name == "receipts"
        for name in ("receipts", "old.receipts"):
            assert definition.REGISTRY.resolve(name) is coroutine.job_class
        assert "tests.test_definition.coroutine" not in definition.REGISTRY

    def test_options_are_inherited_but_for_name_and_aliases(self, registry: Registry[type[Job]]) -> None:
        class Parent(Job, queue="low", retry=0, unique="until_executed", team="a", name="p", aliases=("q",)):
            def perform(self) -> None: ...

        class Child(Parent, retry=1, colour="red"):
            pass

        assert Child.cogworker_options.fields() == {
            "queue": "low",
            "retry": 1,
            "unique": "until_executed",
            "team": "a",
            "colour": "red",
        }
        assert Parent.cogworker_options.retry == 0
        assert Child.cogworker_name == f"{__name__}.{Child.__qualname__}"
        assert Child.cogworker_aliases == ()
        assert registry.names() == sorted(["p", "q", Child.cogworker_name])

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"queue": "two words"}, ValueError),
            ({"queue": 5}, TypeError),
            ({"retry": -1}, ValueError),
            ({"retry": "5"}, TypeError),
            ({"unique": "always"}, ValueError),
            ({"on_commit": 5}, TypeError),
            ({"name": ""}, ValueError),
            ({"name": 5}, TypeError),
            ({"aliases": ("a\n",)}, ValueError),
            ({"aliases": "old.name"}, TypeError),
            ({"jid": "x"}, ValueError),
            ({"at": 5}, ValueError),
            ({"kwargs": {}}, ValueError),
            ({"periodic_slot": 5}, ValueError),
            ({"tags": {1}}, TypeError),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, dict) else value.__name__,
    )
    def test_a_wrong_option_fails_at_the_definition_of_class_and_function(
        self, registry: Registry[type[Job]], options: dict[str, Any], error: type[Exception]
    ) -> None:
        with pytest.raises(error):

            class Wrong(Job, **options):
                def perform(self) -> None: ...

        with pytest.raises(error):
            job(**options)(takes_nothing)
        assert registry.names() == []

    def test_a_job_cannot_have_a_method_with_a_name_of_the_engine(self, registry: Registry[type[Job]]) -> None:
        with pytest.raises(TypeError, match="start: the name belongs to Job"):

            class Wrong(Job):
                def start(self) -> None:  # type: ignore[override]  # what the test is about
                    ...


class TestRegistration:
    def test_a_class_without_perform_is_a_base_and_cannot_be_pushed(
        self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher
    ) -> None:
        class Base(Job, queue="low"):
            pass

        class Real(Base):
            def perform(self) -> None: ...

        assert registry.names() == [Real.cogworker_name]
        with pytest.raises(TypeError, match="Base has no perform method"):
            Base.perform_async()
        assert Real.perform_async()
        with pytest.raises(NotImplementedError, match="Base has no perform method"):
            Base().perform()

    def test_a_class_defined_again_replaces_itself_quietly(self, registry: Registry[type[Job]]) -> None:
        def define() -> type[Job]:
            class Again(Job):
                def perform(self) -> None: ...

            return Again

        define()
        second = define()
        assert registry.resolve(second.cogworker_name) is second
        assert registry.problems() == []

    def test_two_jobs_with_one_name_are_a_problem(self, registry: Registry[type[Job]]) -> None:
        class First(Job, name="report"):
            def perform(self) -> None: ...

        class Second(Job, name="report"):
            def perform(self) -> None: ...

        (problem,) = registry.problems()
        assert "'report'" in problem
        assert First.__qualname__ in problem
        assert Second.__qualname__ in problem

    def test_a_local_class_can_be_pushed(self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher) -> None:
        class Local(Job):
            def perform(self) -> None: ...

        Local.perform_async()
        assert "<locals>" in Local.cogworker_name
        assert registry.resolve(dispatcher.pushes[0].payload["class"]) is Local


class TestSignatures:
    @pytest.mark.parametrize("kind", [staticmethod, classmethod])
    def test_perform_may_be_static_or_of_the_class(
        self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher, kind: Callable[..., Any]
    ) -> None:
        body = kind(lambda a: a) if kind is staticmethod else kind(lambda cls, a: a)
        local: Any = type("Local", (Job,), {"perform": body, "__module__": __name__})
        local.perform_async(1)
        with pytest.raises(TypeError, match="too many positional arguments"):
            local.perform_async(1, 2)

    def test_perform_may_take_anything(self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher) -> None:
        class Open(Job):
            def perform(*args: Any, **kwargs: Any) -> None: ...

        Open.perform_async()
        Open.perform_async(1, 2, a=3)
        assert len(dispatcher.pushes) == 2

    def test_a_perform_that_does_not_tell_its_signature_is_not_checked(
        self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher
    ) -> None:
        local: Any = type("Local", (Job,), {"perform": max, "__module__": __name__})
        local.perform_async(1, 2, 3)
        assert dispatcher.pushes[0].payload["args"] == [1, 2, 3]

    def test_an_inherited_perform_is_checked_under_the_childs_name(
        self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher
    ) -> None:
        class Child(ReportJob):
            pass

        with pytest.raises(TypeError, match=r"Child\.perform: missing"):
            Child.perform_async()  # type: ignore[call-arg]


class TestRuns:
    def test_a_started_job_knows_its_id_and_payload(self) -> None:
        started = ReportJob.start(PAYLOAD)
        assert (started.jid, started.payload) == ("a" * 24, PAYLOAD)
        assert started.perform(7) == {"rows": 7}

    def test_outside_a_worker_a_job_can_be_called_and_reports_to_nobody(self) -> None:
        report = ReportJob()
        assert (report.jid, dict(report.payload)) == ("", {})
        report.at(50, "half way")
        report.store(rows=5)
        assert report.perform(7) == {"rows": 7}

    def test_progress_goes_to_the_reporter(self) -> None:
        reports: list[Any] = []
        started = ReportJob.start(PAYLOAD, reports.append)
        started.at(50, "half way")
        started.at(75.5)
        started.store(rows=1000, parts=("a", "b"))
        assert reports == [
            {"pct": 50, "message": "half way"},
            {"pct": 75.5, "message": None},
            {"rows": 1000, "parts": ["a", "b"]},
        ]

    @pytest.mark.parametrize(
        ("report", "error", "sentence"),
        [
            (lambda one: one.at("50"), TypeError, "percent"),
            (lambda one: one.at(True), TypeError, "percent"),
            (lambda one: one.at(float("nan")), ValueError, "percent"),
            (lambda one: one.at(50, 5), TypeError, "message"),
            (lambda one: one.at(50, "\ud800"), ValueError, "message"),
            (lambda one: one.store(rows=float("inf")), ValueError, "^rows: inf"),
            (lambda one: one.store(rows=[{1}]), TypeError, r"^rows\[0\]: set"),
        ],
    )
    def test_wrong_reports_are_refused_with_their_place(
        self, report: Callable[[Job], None], error: type[Exception], sentence: str
    ) -> None:
        reports: list[Any] = []
        with pytest.raises(error, match=sentence):
            report(ReportJob.start(PAYLOAD, reports.append))
        assert reports == []

    def test_the_current_job_is_the_innermost_running_one(self) -> None:
        outer, inner = ReportJob.start(PAYLOAD), ReportJob.start(PAYLOAD)
        assert current_job() is None
        with running(outer):
            assert current_job() is outer
            with running(inner):
                assert current_job() is inner
            assert current_job() is outer
        assert current_job() is None

    def test_the_current_job_is_none_again_after_an_error(self) -> None:
        with pytest.raises(KeyError), running(ReportJob.start(PAYLOAD)):
            raise KeyError
        assert current_job() is None

    def test_each_thread_and_each_task_has_its_own_current_job(self) -> None:
        seen: list[Job | None] = []

        async def task(one: Job) -> bool:
            with running(one):
                await asyncio.sleep(0.001)
                return current_job() is one

        async def main() -> list[bool]:
            return await asyncio.gather(*(task(ReportJob.start(PAYLOAD)) for _ in range(3)))

        with running(ReportJob.start(PAYLOAD)):
            thread = threading.Thread(target=lambda: seen.append(current_job()))
            thread.start()
            thread.join()
        assert seen == [None]
        assert asyncio.run(main()) == [True, True, True]


class TestHooks:
    def test_hooks_are_there_only_if_defined(self, registry: Registry[type[Job]]) -> None:
        class Hooked(Job):
            def perform(self) -> None: ...
            def retry_in(self, count: int) -> int:
                return count

        class Child(Hooked):
            pass

        class Overriding(Hooked):
            def retry_in(self, count: int) -> int:
                return count + 100

        class Without(Hooked):
            retry_in = None  # type: ignore[assignment]  # takes the parent's hook away

        assert (ReportJob.has_retry_in, ReportJob.has_retries_exhausted) == (False, False)
        assert (Hooked.has_retry_in, Hooked.has_retries_exhausted) == (True, False)
        assert (Child.has_retry_in, Without.has_retry_in) == (True, False)
        answers = [call_with_fitting(one.start(PAYLOAD).retry_in, 1, KeyError(), {}) for one in (Child, Overriding)]
        assert answers == [1, 101]

    def test_a_parents_later_hook_is_seen(self, registry: Registry[type[Job]]) -> None:
        class Parent(Job):
            def perform(self) -> None: ...

        class Child(Parent):
            pass

        assert not Child.has_retries_exhausted
        Parent.retries_exhausted = lambda self, payload: payload
        assert Child.has_retries_exhausted

    def test_hooks_never_travel(self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher) -> None:
        class Hooked(Job):
            def perform(self) -> None: ...
            def retry_in(self) -> int:
                return 5

        Hooked.perform_async()
        assert "retry_in" not in dispatcher.pushes[0].payload
        assert "retry_in" not in Hooked.cogworker_options.fields()

    def test_a_function_gets_its_hooks_by_decorators(self, registry: Registry[type[Job]]) -> None:
        told: list[Any] = []

        @job
        def fragile() -> None: ...

        @fragile.retry_in
        def soon(count: int, error: BaseException) -> int:
            return count + 5

        @fragile.retries_exhausted
        def lost(payload: Any, error: BaseException) -> None:
            told.append((payload, error))

        job_class, error = fragile.job_class, KeyError()
        assert (job_class.has_retry_in, job_class.has_retries_exhausted) == (True, True)
        assert call_with_fitting(job_class.start(PAYLOAD).retry_in, 1, error, {}) == 6
        call_with_fitting(job_class.start(PAYLOAD).retries_exhausted, {"a": 1}, error)
        assert told == [({"a": 1}, error)]
        assert soon(1, error) == 6

    def test_a_hook_must_be_a_function(self, registry: Registry[type[Job]]) -> None:
        """Reference C9."""
        with pytest.raises(TypeError, match=r"plain\.retry_in decorates a function, not 5"):
            plain.retry_in(5)  # type: ignore[type-var]  # what the test is about
        with pytest.raises(TypeError, match=r"plain\.retries_exhausted decorates a function, not None"):
            plain.retries_exhausted(None)  # type: ignore[type-var]  # what the test is about
        for hook in ("retry_in", "retries_exhausted"):
            with pytest.raises(TypeError, match=rf"Wrong\.{hook}: a hook is a method, not 60"):
                type("Wrong", (Job,), {hook: 60, "perform": takes_nothing})
        assert registry.names() == []

    @pytest.mark.parametrize("kind", [staticmethod, classmethod])
    def test_a_hook_may_be_static_or_of_the_class(
        self, registry: Registry[type[Job]], kind: Callable[..., Any]
    ) -> None:
        body = kind(lambda count: count + 1) if kind is staticmethod else kind(lambda cls, count: count + 1)
        local: Any = type("Local", (Job,), {"retry_in": body, "perform": takes_nothing, "__module__": __name__})
        assert local.has_retry_in
        assert call_with_fitting(local.start(PAYLOAD).retry_in, 1, KeyError(), {}) == 2


class TestFunctions:
    def test_calling_one_runs_it_here_and_now(self) -> None:
        assert plain(2) == 2
        assert plain(2, double=True) == 4
        assert asyncio.run(coroutine(3)) == 3

    def test_a_worker_runs_it_through_its_class(self) -> None:
        assert plain.job_class.start(PAYLOAD).perform(2, double=True) == 4
        assert asyncio.run(coroutine.job_class.start(PAYLOAD).perform(3)) == 3

    def test_it_keeps_what_makes_it_a_function(self) -> None:
        assert isinstance(plain, FunctionJob)
        assert (plain.__name__, plain.__doc__) == ("plain", "Give the number back.")
        assert (plain.__module__, plain.__qualname__) == (__name__, "plain")
        assert plain.__wrapped__(5) == 5
        assert repr(plain) == "<job tests.test_definition.plain>"

    def test_it_pickles_and_copies_as_itself(self) -> None:
        assert pickle.loads(pickle.dumps(plain)) is plain
        assert copy.deepcopy(plain) is plain

    def test_options_and_signature_are_those_given(self, dispatcher: MemoryDispatcher) -> None:
        coroutine.perform_async(1)
        payload = dispatcher.pushes[0].payload
        assert (payload["class"], payload["queue"], payload["retry"]) == ("receipts", "mail", 3)
        with pytest.raises(TypeError, match=r"receipts\.perform: missing a required argument: 'number'"):
            coroutine.perform_async()  # type: ignore[call-arg]

    def test_only_functions_can_be_decorated(self, registry: Registry[type[Job]]) -> None:
        wrong: list[Any] = [ReportJob, 5, "mail", plain]
        for thing in wrong:
            with pytest.raises(TypeError, match="@job decorates a function"):
                job(thing)
        assert registry.names() == []

    def test_a_lambda_needs_a_name(self, registry: Registry[type[Job]], dispatcher: MemoryDispatcher) -> None:
        with pytest.raises(TypeError, match="a lambda has no name of its own"):
            job(lambda: None)
        job(name="nothing")(lambda: None).perform_async()
        assert registry.names() == ["nothing"]


class TestUserClasses:
    def test_a_job_may_have_a_constructor_and_class_attributes(self, registry: Registry[type[Job]]) -> None:
        class Made(Job):
            made: ClassVar[list[int]] = []

            def __init__(self) -> None:
                self.made.append(1)

            def perform(self) -> None: ...

        first, second = Made.start(PAYLOAD), Made.start(PAYLOAD)
        assert first is not second
        assert Made.made == [1, 1]

    def test_the_init_subclass_of_a_mixin_is_called(self, registry: Registry[type[Job]]) -> None:
        seen: list[str] = []

        class Mixin:
            def __init_subclass__(cls) -> None:
                seen.append(cls.__name__)

        class Mixed(Job, Mixin, queue="low"):
            def perform(self) -> None: ...

        assert seen == ["Mixed"]
        assert Mixed.cogworker_options.queue == "low"


@pytest.mark.parametrize("value", ["low", 3, False, None])
@pytest.mark.parametrize("option", ["queue", "retry", "unique", "on_commit"])
def test_an_option_in_the_body_of_a_class_is_refused_instead_of_ignored(option: str, value: object) -> None:
    with pytest.raises(TypeError, match=rf"Late\.{option}: options are keywords of the class"):
        type("Late", (Job,), {"perform": lambda self: None, option: value})


def test_a_method_may_be_called_like_an_option() -> None:
    class Mail(Job):
        def perform(self) -> None:
            self.queue()

        def queue(self) -> None: ...

    assert Mail.cogworker_options.queue == "default"


@pytest.mark.parametrize("perform", [None, 5, property(lambda self: None)])
def test_a_perform_that_cannot_be_called_is_refused(perform: object) -> None:
    with pytest.raises(TypeError, match="perform must be a method, not"):
        type("Wrong", (Job,), {"perform": perform})


def test_a_generator_is_refused_since_it_would_end_without_having_run() -> None:
    def rows(self: Job) -> Iterator[int]:
        yield 1

    async def pages() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match=r"rows_job\.perform is a generator"):
        type("Rows", (Job,), {"perform": rows}, name="rows_job")
    with pytest.raises(TypeError, match=r"pages_job\.perform is a generator"):
        job(name="pages_job")(pages)
