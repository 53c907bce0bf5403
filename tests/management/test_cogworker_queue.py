from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import redis
from django.core.management import CommandError, call_command
from django.test import override_settings

from tests.stores import raw_job
from tests.support import finished, manage


@pytest.fixture(autouse=True)
def settings(redis_url: str) -> Iterator[None]:
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "t:"}):
        yield


def said(*words: str) -> str:
    out = io.StringIO()
    call_command("cogworker_queue", *words, stdout=out)
    return out.getvalue().strip()


def test_a_queue_is_paused_and_resumed(redis_client: redis.Redis) -> None:
    assert said("pause", "low") == "Queue low is paused: its jobs wait until it is resumed."
    assert redis_client.smembers("t:paused_queues") == {b"low"}
    assert said("pause", "low") == "Queue low was paused already."
    assert said("resume", "low") == "Queue low is resumed."
    assert not redis_client.exists("t:paused_queues")
    assert said("resume", "low") == "Queue low was not paused."


def test_a_resume_tells_when_all_intake_is_paused_all_the_same(redis_client: redis.Redis) -> None:
    redis_client.sadd("t:paused_queues", "*", "low")
    assert said("resume", "low") == "Queue low is resumed. All intake is paused, so its jobs still wait."


def test_clearing_asks_nothing_and_tells_how_many(redis_client: redis.Redis) -> None:
    redis_client.lpush("t:queue:low", *(raw_job() for _ in range(1_234)))
    assert said("clear", "low") == "1234 jobs deleted from queue low."
    assert said("clear", "low") == "0 jobs deleted from queue low."
    redis_client.lpush("t:queue:low", raw_job())
    assert said("clear", "low") == "1 job deleted from queue low."
    assert not redis_client.exists("t:queue:low")


@pytest.mark.parametrize("name", ["ü x", "{h}", "*", "a\nb", "x" * 300, ""])
def test_a_name_that_no_queue_can_have_is_refused_in_one_sentence(redis_client: redis.Redis, name: str) -> None:
    for action in ("pause", "resume", "clear"):
        with pytest.raises(CommandError, match="is not allowed") as caught:
            call_command("cogworker_queue", action, name)
        assert "\n" not in str(caught.value)
    assert redis_client.keys() == []


def test_without_redis_there_is_one_sentence_and_exit_code_1() -> None:
    code, out, err = finished(manage("cogworker_queue", "pause", "low", REDIS_URL="redis://127.0.0.1:1/0"))
    assert (code, out) == (1, "")
    assert err.startswith("CommandError: Redis is not available:")
    assert err.count("\n") == 1


def test_faulty_settings_are_told_without_a_traceback() -> None:
    with override_settings(COGWORKER={"QUEUES": []}), pytest.raises(CommandError, match="QUEUES"):
        call_command("cogworker_queue", "pause", "low")
