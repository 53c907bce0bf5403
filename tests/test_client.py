from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import redis

from cogworker_django.client import JobClient
from cogworker_django.core import codec
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.config import Config
from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.middleware import Chain
from cogworker_django.core.options import JobOptions
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.core.registry import Registry
from cogworker_django.core.signature import CallSignature, signature_of
from cogworker_django.outbox import BULK_SIZE
from cogworker_django.store.dispatcher import RedisDispatcher
from cogworker_django.store.store import Store
from tests.memory import MemoryDispatcher

NOW = 1_800_000_000.5


def takes_anything(*args: Any, **kwargs: Any) -> None: ...


def blueprint(perform: Callable[..., Any] = takes_anything, **options: Any) -> Blueprint:
    signature = signature_of(perform)
    assert signature is not None
    return Blueprint.of(
        "demo.jobs.Report", JobOptions().merged(**options), CallSignature("demo.jobs.Report", signature).check
    )


class Report:
    cogworker_blueprint = blueprint(lambda user_id, *, kind="pdf": None, queue="low", retry=5)


@pytest.fixture
def dispatcher() -> MemoryDispatcher:
    return MemoryDispatcher()


def client_of(dispatcher: MemoryDispatcher, *middleware: Callable[..., Any], **options: Any) -> JobClient:
    registry: Registry[Any] = Registry()
    registry.add("demo.jobs.Report", ("old.Report",), Report)
    chain = Chain([(target, {}) for target in middleware])
    return JobClient(dispatcher, registry=registry, chain=chain, now=lambda: NOW, **options)


@pytest.fixture
def client(dispatcher: MemoryDispatcher) -> JobClient:
    return client_of(dispatcher)


class TestImmediatePushes:
    def test_the_payload_has_jid_class_arguments_queue_options_and_times(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        jid = client.enqueue(blueprint(retry=False, team="a"), (7,), {"kind": "csv"})
        (push,) = dispatcher.pushes
        assert push.payload == {
            "class": "demo.jobs.Report",
            "args": [7],
            "kwargs": {"kind": "csv"},
            "jid": jid,
            "queue": "default",
            "retry": False,
            "team": "a",
            "created_at": NOW,
            "enqueued_at": NOW,
        }
        assert (push.delay, push.at) == (None, None)

    def test_raw_is_the_payload_encoded(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        client.enqueue(blueprint(), ("中", (1, {"a": None})), {})
        assert codec.decode(dispatcher.pushes[0].raw) == dispatcher.pushes[0].payload

    def test_each_push_has_a_jid_of_its_own(self, client: JobClient) -> None:
        assert len({client.enqueue(blueprint(), (), {}) for _ in range(10)}) == 10

    def test_a_refused_duplicate_is_none(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        dispatcher.refused.add("demo.jobs.Report")
        assert client.enqueue(blueprint(), (), {}) is None

    def test_what_the_caller_does_with_his_lists_later_does_not_reach_the_job(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        rows = [1]
        client.enqueue(blueprint(), (rows,), {"rows": rows})
        rows.append(2)
        payload = dispatcher.pushes[0].payload
        assert (payload["args"], payload["kwargs"]) == ([[1]], {"rows": [1]})

    def test_an_error_of_redis_reaches_the_caller(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        dispatcher.error = RedisUnavailable("away")
        with pytest.raises(RedisUnavailable, match="away"):
            client.enqueue(blueprint(), (), {})


class TestRefusals:
    @pytest.mark.parametrize(
        ("args", "kwargs", "error", "sentence"),
        [
            (({"x": {1}},), {}, TypeError, r'^args\[0\]\["x"\]: set'),
            ((1, float("nan")), {}, ValueError, r"^args\[1\]: nan"),
            ((), {"kind": b"x"}, TypeError, r'^kwargs\["kind"\]: bytes'),
            (("x" * 2000,), {}, ValueError, r"2,\d\d\d bytes, over the limit of 1,000 .*MAX_PAYLOAD_BYTES"),
        ],
    )
    def test_arguments_that_do_not_travel_are_refused_and_nothing_is_pushed(
        self,
        dispatcher: MemoryDispatcher,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        error: type[Exception],
        sentence: str,
    ) -> None:
        client = client_of(dispatcher, max_payload_bytes=1000)
        pushes: list[Callable[[], object]] = [
            lambda: client.enqueue(blueprint(), args, kwargs),
            lambda: client.enqueue_in(5, blueprint(), args, kwargs),
            lambda: client.enqueue_at(NOW + 5, blueprint(), args, kwargs),
            lambda: client.push({"class": "other.Job", "args": list(args), "kwargs": kwargs}),
        ]
        for push in pushes:
            with pytest.raises(error, match=sentence):
                push()
        assert dispatcher.calls == []

    def test_a_call_that_perform_does_not_take_is_refused(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        one = blueprint(lambda a: None)
        pushes: list[Callable[[], object]] = [
            lambda: client.enqueue(one, (), {}),
            lambda: client.enqueue(one, (1, 2), {}),
            lambda: client.enqueue(one, (1,), {"b": 2}),
            lambda: client.enqueue_in(5, one, (), {}),
            lambda: client.enqueue_bulk(one, [(1,), ()]),
        ]
        for push in pushes:
            with pytest.raises(TypeError, match=r"demo\.jobs\.Report\.perform"):
                push()
        assert dispatcher.calls == []


@pytest.fixture
def kolkata() -> Iterator[None]:
    """The process's own zone is one that nothing may depend on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


class TestTimes:
    def test_a_delay_travels_as_delay_and_is_shown_as_time(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        client.enqueue_in(300, blueprint(), (7,), {})
        client.enqueue_in(timedelta(minutes=5), blueprint(), (7,), {})
        for push in dispatcher.pushes:
            assert (push.delay, push.at) == (300.0, None)
            assert push.payload["at"] == NOW + 300
            assert "enqueued_at" not in push.payload

    def test_a_delay_is_a_delay_however_long_and_a_time_a_time_however_small(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        """Reference C5, where the size of the number decides; contract 2 has a method for each."""
        client.enqueue_in(2_000_000_000, blueprint(), (), {})
        client.enqueue_at(2_000_000, blueprint(), (), {})
        later, past = dispatcher.pushes
        assert (later.delay, later.at) == (2_000_000_000.0, None)
        assert later.payload["at"] == NOW + 2_000_000_000
        assert (past.delay, past.at, past.payload["at"]) == (None, None, 2_000_000)

    @pytest.mark.parametrize("delay", [0, -5, timedelta(0), timedelta(seconds=-1)])
    def test_no_delay_is_now(self, client: JobClient, dispatcher: MemoryDispatcher, delay: float | timedelta) -> None:
        client.enqueue_in(delay, blueprint(), (), {})
        (push,) = dispatcher.pushes
        assert (push.delay, push.at) == (None, None)
        assert push.payload["enqueued_at"] == NOW
        assert push.payload["at"] <= NOW

    def test_a_time_travels_as_time(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        when = datetime(2030, 7, 1, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
        client.enqueue_at(when, blueprint(), (), {})
        client.enqueue_at(NOW + 5, blueprint(), (), {})
        assert [push.at for push in dispatcher.pushes] == [
            datetime(2030, 7, 1, 3, tzinfo=UTC).timestamp(),
            NOW + 5,
        ]
        assert [push.payload["at"] for push in dispatcher.pushes] == [push.at for push in dispatcher.pushes]
        assert all(push.delay is None and "enqueued_at" not in push.payload for push in dispatcher.pushes)

    @pytest.mark.parametrize("when", [5, NOW, 0, -5])
    def test_a_time_that_has_passed_is_now(self, client: JobClient, dispatcher: MemoryDispatcher, when: float) -> None:
        client.enqueue_at(when, blueprint(), (), {})
        (push,) = dispatcher.pushes
        assert (push.delay, push.at) == (None, None)
        assert (push.payload["at"], push.payload["enqueued_at"]) == (when, NOW)

    def test_a_naive_datetime_is_read_in_the_zone_handed_in(self, dispatcher: MemoryDispatcher, kolkata: None) -> None:
        """Case B098."""
        zone = ZoneInfo("America/New_York")
        client = client_of(dispatcher, naive_to_timestamp=lambda naive: naive.replace(tzinfo=zone).timestamp())
        client.enqueue_at(datetime(2030, 7, 1, 12), blueprint(), (), {})
        assert dispatcher.pushes[0].at == datetime(2030, 7, 1, 16, tzinfo=UTC).timestamp()

    def test_a_naive_datetime_is_refused_where_no_zone_is_known(self, client: JobClient) -> None:
        with pytest.raises(ValueError, match="has no time zone"):
            client.enqueue_at(datetime(2030, 7, 1, 12), blueprint(), (), {})

    @pytest.mark.parametrize(
        ("delay", "error"),
        [("5", TypeError), (True, TypeError), (None, TypeError), (float("nan"), ValueError), (1e300, ValueError)],
    )
    def test_a_wrong_delay_or_time_is_refused_and_nothing_is_pushed(
        self, client: JobClient, dispatcher: MemoryDispatcher, delay: Any, error: type[Exception]
    ) -> None:
        with pytest.raises(error, match="delay"):
            client.enqueue_in(delay, blueprint(), (), {})
        with pytest.raises(error, match="the time"):
            client.enqueue_at(delay, blueprint(), (), {})
        assert dispatcher.calls == []


class TestBulks:
    def test_every_call_becomes_a_job_in_order(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        jids = client.enqueue_bulk(blueprint(queue="low"), [(1,), [2, {"a": (3,)}], ()])
        assert [push.payload["args"] for push in dispatcher.pushes] == [[1], [2, {"a": [3]}], []]
        assert [push.payload["jid"] for push in dispatcher.pushes] == jids
        assert len(set(jids)) == 3
        assert all(push.payload["enqueued_at"] == NOW for push in dispatcher.pushes)
        assert all(codec.decode(push.raw) == push.payload for push in dispatcher.pushes)

    def test_any_iterable_goes_and_a_thousand_at_a_time(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        jids = client.enqueue_bulk(blueprint(), ((number,) for number in range(2 * BULK_SIZE + 1)))
        assert [len(call) for call in dispatcher.calls] == [BULK_SIZE, BULK_SIZE, 1]
        assert len(jids) == 2 * BULK_SIZE + 1

    def test_nothing_is_nothing(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        assert client.enqueue_bulk(blueprint(), []) == []
        assert client.push_bulk([]) == []
        assert dispatcher.calls == []

    @pytest.mark.parametrize("middleware", [[], [lambda *args: args[-1]()]])
    @pytest.mark.parametrize(
        ("bad", "error", "sentence"),
        [
            (({"x": {1}},), TypeError, r'^item 1500: args\[0\]\["x"\]: set'),
            ((float("inf"),), ValueError, r"^item 1500: args\[0\]: inf"),
            ((1, 2), TypeError, r"^item 1500: demo\.jobs\.Report\.perform: too many"),
            (("x" * 2000,), ValueError, r"^item 1500: the payload of demo\.jobs\.Report is 2,"),
            ("ab", TypeError, r"^item 1500: expected a tuple or list of arguments, not 'ab'"),
            ({"a": 1}, TypeError, r"^item 1500: expected a tuple or list of arguments"),
            (7, TypeError, r"^item 1500: expected a tuple or list of arguments"),
        ],
    )
    def test_one_bad_item_means_that_nothing_is_pushed(
        self,
        dispatcher: MemoryDispatcher,
        middleware: list[Callable[..., Any]],
        bad: Any,
        error: type[Exception],
        sentence: str,
    ) -> None:
        client = client_of(dispatcher, *middleware, max_payload_bytes=1000)
        calls = [(number,) for number in range(1600)]
        calls[1500] = bad
        with pytest.raises(error, match=sentence):
            client.enqueue_bulk(blueprint(lambda a: None), calls)
        assert dispatcher.calls == []

    def test_refused_ones_are_none_in_their_places(self, dispatcher: MemoryDispatcher) -> None:
        def only_even(name: str, payload: Any, queue: str, redis: object, proceed: Callable[[], Any]) -> None:
            if payload["args"][0] % 2 == 0:
                proceed()

        jids = client_of(dispatcher, only_even).enqueue_bulk(blueprint(), [(0,), (1,), (2,), (3,)])
        assert [jid is None for jid in jids] == [False, True, False, True]
        assert [push.payload["jid"] for push in dispatcher.pushes] == [jids[0], jids[2]]


class TestItems:
    def test_a_registered_job_brings_its_options_and_its_signature(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        client.push({"class": "demo.jobs.Report", "args": [7]})
        client.push({"class": "demo.jobs.Report", "args": [7], "queue": "high", "retry": 0, "colour": "red"})
        client.push({"class": Report, "args": (7,), "kwargs": {"kind": "csv"}})
        first, second, third = (push.payload for push in dispatcher.pushes)
        assert (first["queue"], first["retry"], first["args"]) == ("low", 5, [7])
        assert (second["queue"], second["retry"], second["colour"]) == ("high", 0, "red")
        assert (third["class"], third["kwargs"]) == ("demo.jobs.Report", {"kind": "csv"})
        with pytest.raises(TypeError, match=r"demo\.jobs\.Report\.perform: missing"):
            client.push({"class": "demo.jobs.Report"})

    def test_an_alias_is_pushed_under_the_jobs_present_name(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        client.push({"class": "old.Report", "args": [7]})
        assert dispatcher.pushes[0].payload["class"] == "demo.jobs.Report"

    def test_a_job_without_code_here_can_be_pushed(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        jid = client.push({"class": "other.Job", "args": [1], "kwargs": {"a": 2}, "jid": "mine"})
        assert jid == "mine"
        assert dispatcher.pushes[0].payload == {
            "class": "other.Job",
            "args": [1],
            "kwargs": {"a": 2},
            "jid": "mine",
            "queue": "default",
            "retry": True,
            "created_at": NOW,
            "enqueued_at": NOW,
        }

    def test_an_item_may_have_a_time(self, client: JobClient, dispatcher: MemoryDispatcher) -> None:
        client.push({"class": "other.Job", "at": NOW + 60})
        client.push({"class": "other.Job", "at": datetime(2001, 1, 1, tzinfo=UTC)})
        later, now = dispatcher.pushes
        assert (later.at, later.payload["at"]) == (NOW + 60, NOW + 60)
        assert now.at is None
        assert now.payload["enqueued_at"] == NOW

    def test_many_items_are_checked_before_the_first_is_pushed(
        self, client: JobClient, dispatcher: MemoryDispatcher
    ) -> None:
        with pytest.raises(ValueError, match=r"^item 1: queue name"):
            client.push_bulk([{"class": "a"}, {"class": "b", "queue": "two words"}])
        assert dispatcher.calls == []
        jids = client.push_bulk(iter([{"class": "a", "jid": "1"}, {"class": "b", "jid": "2", "queue": "low"}]))
        assert jids == ["1", "2"]
        assert [len(call) for call in dispatcher.calls] == [2]


class TestMiddleware:
    def test_it_sees_name_payload_queue_and_redis_and_may_change_the_payload(
        self, dispatcher: MemoryDispatcher
    ) -> None:
        seen: list[Any] = []

        def tag(name: str, payload: Any, queue: str, redis: object, proceed: Callable[[], Any]) -> None:
            payload["trace"] = {"id": 5}
            payload["queue"] = "other"
            seen.extend((name, queue, redis, proceed(), payload["jid"]))

        jid = client_of(dispatcher, tag, redis="redis").enqueue(blueprint(queue="low"), (), {})
        assert seen == ["demo.jobs.Report", "low", "redis", jid, jid]
        (push,) = dispatcher.pushes
        assert (push.payload["queue"], push.payload["trace"]) == ("other", {"id": 5})
        assert codec.decode(push.raw) == push.payload

    def test_who_does_not_proceed_refuses_the_job(self, dispatcher: MemoryDispatcher) -> None:
        client = client_of(dispatcher, lambda *args: "jid")
        assert client.enqueue(blueprint(), (), {}) is None
        assert client.push({"class": "x"}) is None
        assert dispatcher.calls == []

    def test_the_answer_does_not_depend_on_what_middleware_returns(self, dispatcher: MemoryDispatcher) -> None:
        def forgetful(*args: Any) -> None:
            args[-1]()

        assert client_of(dispatcher, forgetful).enqueue(blueprint(), (), {}) is not None

    def test_what_it_has_broken_is_refused_and_nothing_is_pushed(self, dispatcher: MemoryDispatcher) -> None:
        def spoil(name: str, payload: Any, queue: str, redis: object, proceed: Callable[[], Any]) -> None:
            payload["when"] = datetime(2030, 1, 1, tzinfo=UTC)
            proceed()

        with pytest.raises(TypeError, match=r"^when: datetime"):
            client_of(dispatcher, spoil).enqueue(blueprint(), (), {})
        assert dispatcher.calls == []

    def test_what_it_raises_reaches_the_caller_and_nothing_is_pushed(self, dispatcher: MemoryDispatcher) -> None:
        def fails(*args: Any) -> None:
            args[-1]()
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            client_of(dispatcher, fails).enqueue(blueprint(), (), {})
        assert dispatcher.calls == []

    def test_it_cannot_change_the_options_of_later_pushes(self, dispatcher: MemoryDispatcher) -> None:
        def add(name: str, payload: Any, queue: str, redis: object, proceed: Callable[[], Any]) -> None:
            payload["tags"].append("x")
            proceed()

        client, tagged = client_of(dispatcher, add), blueprint(tags=["a"])
        client.enqueue(tagged, (), {})
        client.enqueue(tagged, (), {})
        assert [push.payload["tags"] for push in dispatcher.pushes] == [["a", "x"], ["a", "x"]]

    @pytest.mark.parametrize(
        ("change", "at", "delay"),
        [({}, None, 300.0), ({"at": NOW + 5}, NOW + 5, None), ({"at": None}, None, None), ({"at": 5}, None, None)],
    )
    def test_it_may_move_the_due_time(
        self, dispatcher: MemoryDispatcher, change: dict[str, Any], at: float | None, delay: float | None
    ) -> None:
        def move(name: str, payload: Any, queue: str, redis: object, proceed: Callable[[], Any]) -> None:
            payload.update(change)
            proceed()

        client_of(dispatcher, move).enqueue_in(300, blueprint(), (), {})
        (push,) = dispatcher.pushes
        assert (push.at, push.delay) == (at, delay)
        assert ("enqueued_at" in push.payload) == (at is None and delay is None)
        assert push.payload.get("at", "absent") is not None


class TestRedis:
    @pytest.fixture
    def store(self, redis_url: str) -> Iterator[Store]:
        store = Store(Config(redis=RedisTarget(url=redis_url)))
        yield store
        store.client.close()

    def test_jobs_land_on_their_queues_and_on_the_schedule(self, store: Store, redis_client: redis.Redis) -> None:
        registry: Registry[Any] = Registry()
        client = JobClient(RedisDispatcher(store.queues), registry=registry)
        jids = client.enqueue_bulk(blueprint(queue="low"), [(1,), (2,)])
        client.enqueue_in(300, blueprint(queue="low"), (3,), {})
        raws: Any = redis_client.lrange("cogworker:queue:low", 0, -1)
        assert [codec.decode(raw)["jid"] for raw in raws] == jids[::-1]
        assert redis_client.smembers("cogworker:queues") == {b"low"}
        scheduled: Any = redis_client.zrange("cogworker:schedule", 0, -1, withscores=True)
        ((raw, score),) = scheduled
        assert codec.decode(raw)["args"] == [3]
        assert abs(score - time.time() - 300) < 5

    def test_no_redis_is_an_error_of_ours(self) -> None:
        store = Store(Config(redis=RedisTarget(url="redis://127.0.0.1:1/0")))
        client = JobClient(RedisDispatcher(store.queues), registry=Registry())
        with pytest.raises(RedisUnavailable):
            client.enqueue(blueprint(), (), {})
