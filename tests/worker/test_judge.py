"""What becomes of a job that has run: the settlement that is built. Nothing here is written, or needs Redis."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from cogworker_django import definition
from cogworker_django.core import codec
from cogworker_django.core.config import Config
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.redis_target import RedisTarget
from cogworker_django.core.registry import Registry
from cogworker_django.definition import Job, job
from cogworker_django.store.settlement import Settlement
from cogworker_django.store.store import Store
from cogworker_django.worker.cancellations import Cancellations
from cogworker_django.worker.deaths import DeathHooks
from cogworker_django.worker.delivery import Delivery
from cogworker_django.worker.judge import Judge
from cogworker_django.worker.recorder import Recorder, Run
from tests.worker.rigs import messages

NOW = 1_000_000.0  # the server's time
DAY = 86_400.0


RUN = Run(began=5.0, seconds=0.25)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[type[Job]]:
    found: Registry[type[Job]] = Registry()
    monkeypatch.setattr(definition, "REGISTRY", found)
    return found


@pytest.fixture
def judge() -> Judge:
    store = Store(Config(redis=RedisTarget(url="redis://127.0.0.1:1/0"), prefix="t:", status=None))
    store.clock.tell(NOW)
    recorder = Recorder(store.statuses, history=False, host="host:1:me")
    deaths = DeathHooks(definition.REGISTRY, (print,))
    return Judge(store.settlements, definition.REGISTRY, deaths, recorder, "host:1:me", Cancellations())


def delivered(**fields: Any) -> Delivery:
    payload = {"class": "job", "args": [[1]], "jid": "j1", "queue": "q", "created_at": 1.5, **fields}
    return Delivery(1, "q", codec.encode(payload), 0.0, False)


def fail(judge: Judge, delivery: Delivery, error: BaseException | None = None) -> Settlement:
    return judge.failure(delivery, codec.decode(delivery.raw), error or ValueError("no"), RUN)


def filed(settlement: Settlement) -> tuple[str, float, dict[str, Any]]:
    """The set, the score and the entry of a settlement that files one."""
    [(command, key, score, entry)] = settlement.essential
    assert command == "ZADD"
    return str(key), float(score), codec.decode(str(entry).encode())


def attempt(settlement: Settlement) -> dict[str, Any]:
    [command] = [command for command in settlement.beside if command[0] == "RPUSH"]
    assert command[1] == "t:job_attempts:j1"
    return codec.decode(str(command[2]).encode())


def hooked(answer: Any, asked: list[Any] | None = None, name: str = "job") -> None:
    """A registered job whose retry hook gives an answer, or raises it."""

    class Hooked(Job, name=name):
        def perform(self, *args: Any) -> None: ...

        def retry_in(self, count: int, exception: BaseException, payload: dict[str, Any]) -> Any:
            if asked is not None:
                asked.append((count, exception, payload))
            if isinstance(answer, BaseException):
                raise answer
            return answer


# Success


def test_a_plain_success_needs_no_settlement_of_its_own(judge: Judge) -> None:
    delivery = delivered()
    assert judge.success(delivery, codec.decode(delivery.raw), None, RUN) is None


def test_a_success_after_failures_clears_its_attempts(judge: Judge) -> None:
    """Engine 3.9."""
    delivery = delivered(retry_count=2)
    settlement = judge.success(delivery, codec.decode(delivery.raw), None, RUN)
    assert settlement is not None
    assert settlement.kind == "processed"
    assert ["DEL", "t:job_attempts:j1"] in settlement.beside


def test_a_success_of_a_job_that_may_have_been_orphaned_clears_its_counter(judge: Judge) -> None:
    """Reference R38."""
    delivery = delivered()
    delivery.orphaned = True
    settlement = judge.success(delivery, codec.decode(delivery.raw), None, RUN)
    assert settlement is not None
    assert ["DEL", "t:orphanings:j1"] in settlement.beside


# Failure


def test_a_first_failure_is_filed_for_a_retry_with_exactly_these_fields(judge: Judge) -> None:
    """Reference P3, P51; `first_failed_at` is ours (engine 3.9)."""
    before = time.time()
    key, due, entry = filed(fail(judge, delivered(custom={"rides": "along"})))
    assert key == "t:retry"
    assert 15 < due - NOW < 76
    assert entry.pop("failed_at") == entry.pop("first_failed_at") >= before
    assert entry == {
        "class": "job",
        "args": [[1]],
        "jid": "j1",
        "queue": "q",
        "created_at": 1.5,
        "custom": {"rides": "along"},
        "error_class": "ValueError",
        "error_message": "no",
        "retry_count": 1,
    }


def test_a_later_failure_counts_on_and_keeps_the_time_of_the_first(judge: Judge) -> None:
    _, _, entry = filed(fail(judge, delivered(retry_count=3, failed_at=7.0, first_failed_at=5.0)))
    assert (entry["retry_count"], entry["first_failed_at"]) == (4, 5.0)
    assert entry["failed_at"] > 7.0


@pytest.mark.parametrize(
    ("retry", "runs"), [(False, 1), (0, 1), (1, 2), (2, 3), (True, 26), (None, 26), ("4", 5), ("lots", 1), ({}, 1)]
)
def test_a_job_runs_once_and_then_as_often_as_it_may_be_retried(retry: object, runs: int, judge: Judge) -> None:
    """Case B110; reference P2, P17, P18, U1."""
    fields = {} if retry is None else {"retry": retry}
    assert filed(fail(judge, delivered(retry_count=runs - 1, **fields)))[0] == "t:dead"
    if runs > 1:
        assert filed(fail(judge, delivered(retry_count=runs - 2, **fields)))[0] == "t:retry"


def test_a_death_is_filed_at_the_servers_time_with_its_hooks(judge: Judge) -> None:
    settlement = fail(judge, delivered(retry=False))
    key, score, entry = filed(settlement)
    assert (key, entry["retry_count"]) == ("t:dead", 1)
    assert score == pytest.approx(NOW, abs=2)
    assert settlement.settled is not None


def test_a_retry_runs_no_death_hooks(judge: Judge) -> None:
    assert fail(judge, delivered()).settled is None


def test_the_attempt_tells_what_happened_where_and_for_how_long(judge: Judge) -> None:
    """Engine 3.9."""

    def inner() -> None:
        raise ValueError("deep down")

    try:
        inner()
    except ValueError as caught:
        told = attempt(fail(judge, delivered(retry_count=1), caught))
    assert told["attempt"] == 2
    assert told["outcome"] == "retrying"
    assert (told["error_class"], told["error_message"]) == ("ValueError", "deep down")
    assert (told["host"], told["duration"]) == ("host:1:me", 0.25)
    assert any("in inner" in line for line in told["backtrace"])
    assert told["failed_at"] == pytest.approx(time.time(), abs=5)


@pytest.mark.parametrize(
    ("answer", "retry", "outcome"),
    [(None, True, "retrying"), (None, False, "dead"), ("kill", True, "killed"), ("discard", True, "discarded")],
)
def test_the_attempt_tells_what_became_of_the_job(answer: Any, retry: bool, outcome: str, judge: Judge) -> None:
    """Reference A6, P34, P35."""
    hooked(answer)
    assert attempt(fail(judge, delivered(retry=retry)))["outcome"] == outcome


def test_what_the_run_did_to_its_arguments_does_not_reach_the_retry(judge: Judge) -> None:
    """Case B101."""
    delivery = delivered(kwargs={"a": []})
    payload = codec.decode(delivery.raw)
    payload["args"][0].append("changed")
    payload["kwargs"]["a"].append("changed")
    payload["note"] = "by middleware"
    _, _, entry = filed(judge.failure(delivery, payload, ValueError("no"), RUN))
    assert (entry["args"], entry["kwargs"], entry["note"]) == ([[1]], {"a": []}, "by middleware")


# Odd errors


class NeedsTwo(Exception):
    def __init__(self, first: object, second: object) -> None:
        super().__init__(f"{first} and {second}")


class Loud(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def circle() -> Exception:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def with_lock() -> Exception:
    error = OSError("holds a lock")
    error.lock = threading.Lock()  # type: ignore[attr-defined]  # anything may hang on an exception
    return error


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (NeedsTwo(1, 2), "NeedsTwo", "1 and 2"),
        (Loud(), "Loud", "#<Loud>"),
        (type("Local", (Exception,), {})("x"), "Local", "x"),
        (
            ExceptionGroup("three", [ValueError(1), KeyError(2), OSError(3)]),
            "ExceptionGroup",
            "three (3 sub-exceptions)",
        ),
        (circle(), "ValueError", "first"),
        (with_lock(), "OSError", "holds a lock"),
        (SystemExit(1), "SystemExit", "1"),
        (ValueError("a\ud800b\0c\x1b[2J\r\nd"), "ValueError", "a\ufffdb\0c\x1b[2J\r\nd"),
        (ValueError(os.fsdecode(b"caf\xe9")), "ValueError", "caf\ufffd"),
        (ValueError("x" * 50_000), "ValueError", "x" * 10_000),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_odd_error_is_filed_like_others(error: BaseException, name: str, message: str, judge: Judge) -> None:
    """Cases B082, B085, B087; reference P12, P20."""
    settlement = fail(judge, delivered(), error)
    _, _, entry = filed(settlement)
    assert (entry["error_class"], entry["error_message"]) == (name, message)
    assert attempt(settlement)["error_message"] == message
    assert len(attempt(settlement)["backtrace"]) <= 200


# The retry hook


@pytest.mark.parametrize("answer", [0, 7, 0.5, 12_000.25])
def test_a_number_is_the_delay_without_jitter(answer: float, judge: Judge) -> None:
    """Reference P30, P31."""
    hooked(answer)
    key, due, _ = filed(fail(judge, delivered()))
    assert key == "t:retry"
    assert due == pytest.approx(NOW + answer, abs=2)


@pytest.mark.parametrize("answer", [-5, "soon", float("nan"), float("inf"), True, object(), "KILL"])
def test_any_other_answer_means_the_default_delay_and_a_warning(
    answer: Any, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference P32."""
    hooked(answer)
    key, due, entry = filed(fail(judge, delivered()))
    assert key == "t:retry"
    assert 14 <= due - NOW <= 76
    assert "interrupted_count" not in entry
    assert "the default delay is used" in "".join(messages(caplog))


def test_none_means_the_default_delay_without_a_word(judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    hooked(None)
    assert 14 <= filed(fail(judge, delivered()))[1] - NOW <= 76
    assert messages(caplog) == []


@pytest.mark.parametrize("trouble", [RuntimeError("hook"), SystemExit(1)])
def test_a_hook_that_raises_means_the_default_delay(
    trouble: BaseException, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    """Reference P33, P47."""
    hooked(trouble)
    assert 14 <= filed(fail(judge, delivered()))[1] - NOW <= 76
    assert "retry hook of job jid=j1 failed" in "".join(messages(caplog))


def test_a_delay_of_over_a_year_is_used_with_a_warning(judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    """Reference P49."""
    hooked(400 * DAY)
    assert filed(fail(judge, delivered()))[1] == pytest.approx(NOW + 400 * DAY, abs=2)
    assert "over 365 days" in "".join(messages(caplog))


def test_kill_goes_to_dead_with_its_hooks(judge: Judge) -> None:
    """Reference P34."""
    hooked("kill")
    settlement = fail(judge, delivered())
    assert filed(settlement)[0] == "t:dead"
    assert settlement.settled is not None


def test_discard_goes_nowhere_and_runs_no_hooks(judge: Judge) -> None:
    """Reference P35."""
    hooked("discard")
    settlement = fail(judge, delivered())
    assert (settlement.essential, settlement.settled, settlement.kind) == ([], None, "failed")


def test_the_hook_is_asked_with_the_count_the_error_and_a_copy_of_the_job(judge: Judge) -> None:
    """Reference P30, P38."""
    asked: list[Any] = []
    hooked(5, asked)
    error = ValueError("no")
    for count in range(3):
        fail(judge, delivered(**({"retry_count": count} if count else {})), error)
    assert [count for count, _, _ in asked] == [0, 1, 2]
    assert asked[0][1] is error
    assert asked[0][2]["jid"] == "j1"


def test_what_the_hook_does_to_its_copy_reaches_nobody(judge: Judge) -> None:
    class Spoiling(Job, name="job"):
        def perform(self, *args: Any) -> None: ...

        def retry_in(self, count: int, exception: BaseException, payload: dict[str, Any]) -> int:
            payload["args"].append("spoilt")
            payload["class"] = "other"
            return 5

    _, _, entry = filed(fail(judge, delivered()))
    assert (entry["class"], entry["args"]) == ("job", [[1]])


@pytest.mark.parametrize(("retry", "count"), [(False, 0), (0, 0), (2, 2)])
def test_the_hook_is_not_asked_about_the_last_failure(retry: Any, count: int, judge: Judge) -> None:
    """Reference P36, P37."""
    asked: list[Any] = []
    hooked(5, asked)
    assert filed(fail(judge, delivered(retry=retry, retry_count=count)))[0] == "t:dead"
    assert asked == []


def test_a_hook_gets_only_as_many_arguments_as_it_takes(judge: Judge) -> None:
    """Reference P48."""

    @job(name="job")
    def function(*args: Any) -> None: ...

    @function.retry_in
    def hook(count: int) -> int:
        return 1000 + count

    assert filed(fail(judge, delivered(retry_count=2)))[1] == pytest.approx(NOW + 1002, abs=2)


def test_a_job_whose_class_is_gone_is_retried_with_the_default_delay(judge: Judge) -> None:
    """Reference P43; case B125."""
    assert 14 <= filed(fail(judge, delivered(**{"class": "gone.Job"})))[1] - NOW <= 76


# When recording fails


def test_a_job_that_does_not_encode_any_more_is_interrupted_from_its_raw_bytes(judge: Judge) -> None:
    """Reference P15, P28."""
    delivery = delivered()
    payload = codec.decode(delivery.raw) | {"poison": object()}
    key, due, entry = filed(judge.failure(delivery, payload, ValueError("no"), RUN))
    assert key == "t:retry"
    assert due == pytest.approx(NOW + 30, abs=2)
    assert (entry["interrupted_count"], entry["retry_count"], entry["error_class"]) == (1, 1, "ValueError")
    assert "poison" not in entry


def test_an_interruption_of_a_job_that_may_have_been_orphaned_clears_its_counter(judge: Judge) -> None:
    """Reference R52."""
    delivery = delivered()
    delivery.orphaned = True
    assert ["DEL", "t:orphanings:j1"] in judge.interrupt(delivery, ValueError("no"), RUN).beside


@pytest.mark.parametrize(("times", "key", "delay"), [(1, "t:retry", 60), (2, "t:retry", 90), (3, "t:dead", 0)])
def test_more_than_three_interruptions_are_the_end(times: int, key: str, delay: int, judge: Judge) -> None:
    """Reference P16."""
    found, due, entry = filed(judge.interrupt(delivered(interrupted_count=times), ValueError("no"), RUN))
    assert found == key
    assert entry["interrupted_count"] == times + 1
    assert due == pytest.approx(NOW + delay, abs=2)


@pytest.mark.parametrize(("retry", "count"), [(False, 0), (2, 2)])
def test_an_interruption_without_retries_left_is_a_death_with_hooks(retry: Any, count: int, judge: Judge) -> None:
    """Reference P17, P18, P40."""
    settlement = judge.interrupt(delivered(retry=retry, retry_count=count), ValueError("no"), RUN)
    assert filed(settlement)[0] == "t:dead"
    assert settlement.settled is not None


def test_a_decision_against_another_run_holds_for_an_interruption_too(judge: Judge) -> None:
    """Reference P42."""
    assert filed(judge.interrupt(delivered(), ValueError("no"), RUN, killed=True))[0] == "t:dead"


@pytest.mark.parametrize("answer", ["kill", "discard"])
def test_the_hook_decides_about_a_job_that_does_not_encode_any_more(answer: str, judge: Judge) -> None:
    """Reference P42: it is asked about the job as fetched. A discarded one is kept in dead: it is not recorded else."""
    asked: list[Any] = []
    hooked(answer, asked)
    delivery = delivered()
    payload = codec.decode(delivery.raw) | {"poison": object()}
    assert filed(judge.failure(delivery, payload, ValueError("no"), RUN))[0] == "t:dead"
    assert [given for _, _, given in asked] == [codec.decode(delivery.raw)]


def test_the_hook_sees_the_arguments_as_they_were_pushed(judge: Judge) -> None:
    """Case B101, reference P38: as the entry that will be stored."""
    asked: list[Any] = []
    hooked(5, asked)
    delivery = delivered()
    payload = codec.decode(delivery.raw) | {"note": "by middleware"}
    payload["args"][0].append("changed")
    judge.failure(delivery, payload, ValueError("no"), RUN)
    [(_, _, given)] = asked
    assert (given["args"], given["note"]) == ([[1]], "by middleware")


# Unreadable


def test_bytes_that_are_no_job_are_buried_with_what_they_were_and_without_hooks(judge: Judge) -> None:
    """Reference P7, P44 and 3.1; case B095."""
    delivery = Delivery(1, "low", b"\x80\x04 not json", 0.0, False)
    settlement = judge.unreadable(delivery, UnreadablePayload("no JSON"))
    key, _, entry = filed(settlement)
    assert key == "t:dead"
    assert (entry["class"], entry["queue"], entry["retry"]) == ("(unparseable)", "low", False)
    assert entry["raw_payload"] == "\ufffd\x04 not json"
    assert (settlement.settled, settlement.kind) == (None, "failed")
    assert [command for command in settlement.beside if command[0] == "RPUSH"] == []
