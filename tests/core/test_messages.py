"""What a refusal says, word for word: it is read by whoever made the mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogworker_django.core import codec, config, item, names, options, payload, redis_target, retry, signature, times
from cogworker_django.core.arguments import checked
from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.middleware import Chain
from cogworker_django.core.outcome import Verdict
from cogworker_django.core.registry import Registry
from cogworker_django.core.text import described
from cogworker_django.core.worker_options import Flags, WorkerOptions


class Silent:
    def __repr__(self) -> str:
        raise ValueError


class Word(str):
    pass


def nobody(name: str) -> Blueprint | None:
    return None


def generator() -> Any:
    yield


async def asynchronous_generator() -> Any:
    yield


def job(**fields: object) -> dict[str, Any]:
    return {"class": "a", "jid": "b", "queue": "c", "args": [], **fields}


ARGUMENTS: list[tuple[object, str]] = [
    ("\ud800", "x: the string has a lone surrogate, which UTF-8 cannot carry"),
    (1 << 20_000, "x: the integer has too many digits to travel as JSON; pass it as text"),
    ([float("nan")], "x[0]: nan is not a number that JSON knows"),
    ({5: 1}, "x: the key 5 is not a string but int"),
    ({Word("a"): 1}, "x: the key 'a' is not a string but tests.core.test_messages.Word"),
    ({"\ud800": 1}, "x: the key '\\ud800' has a lone surrogate"),
    (Word("a"), "x: tests.core.test_messages.Word is not a JSON type; pass a plain str"),
    ({"a": {1, 2}}, 'x["a"]: set is not a JSON type; pass its id or text instead, or a list or dict of such values'),
    (
        {"k" * 61: b""},
        f'x["{"k" * 60}…"]: bytes is not a JSON type; '
        + "pass its id or text instead, or a list or dict of such values",
    ),
]

CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: codec.decode(b"1"), "the payload is not a JSON object but a number"),
    (lambda: item.read_item(5, nobody), "an item must be a dict with a class, not 5"),  # type: ignore[arg-type]
    (lambda: item.read_item({"class": 5}, nobody), "the item's class must be the name of a job, or a job, not 5"),
    (lambda: item.read_item({"class": "a", "args": 5}, nobody), "args must be a list or tuple, not 5"),
    (lambda: item.read_item({"class": "a", "kwargs": 5}, nobody), "kwargs must be a dict, not 5"),
    (lambda: names.check_queue(5), "queue must be a string, not 5"),
    (
        lambda: names.check_queue("a b"),
        "queue name 'a b' is not allowed: use 1 to 128 letters, digits or any of _ . : @ / -",
    ),
    (lambda: names.check_job_name(5), "job name must be a string, not 5"),
    (lambda: names.check_jid("\n"), "jid '\\n' is not allowed: use 1 to 128 printable characters"),
    (lambda: options.check_retry("a"), "retry must be True, False or a number of retries, not 'a'"),
    (lambda: options.check_retry(-2), "retry must be 0 or more, not -2"),
    (
        lambda: options.check_retry(1 << 20_000),
        "retry: the integer has too many digits to travel as JSON; pass it as text",
    ),
    (lambda: options.check_unique("x"), "unique must be \"until_executed\" or None, not 'x'"),
    (lambda: options.check_on_commit(5), "on_commit must be True, False or a database alias, not 5"),
    (
        lambda: options.refuse_attributes("Job", {"retry": 5, "perform": 1}),
        "Job.retry: options are keywords of the class, as in class Job(Job, retry=…)",
    ),
    (lambda: payload.check_shape(job(args=1)), "the payload has no args, or args that are not an array"),
    (lambda: payload.check_shape(job(kwargs=1)), "the payload's kwargs are not an object"),
    (
        lambda: payload.encoded(job(), 10),
        "the payload of a is 45 bytes, over the limit of 10 "
        '(COGWORKER["MAX_PAYLOAD_BYTES"]): pass less, or the id of what is stored elsewhere',
    ),
    (lambda: signature.perform_signature("a.B", 5), "a.B.perform must be a method, not 5"),
    (
        lambda: signature.perform_signature("a.B", generator),
        "a.B.perform is a generator, and nothing of it would run: do the work without yield",
    ),
    (
        lambda: signature.perform_signature("a.B", asynchronous_generator),
        "a.B.perform is a generator, and nothing of it would run: do the work without yield",
    ),
    (lambda: times.seconds("a", "delay"), "delay must be seconds or a timedelta, not 'a'"),
    (lambda: times.seconds(float("inf"), "delay"), "delay must be a finite number, not inf"),
    (
        lambda: times.due(1e13, times.refuse_naive),
        "the time is outside the years 1 to 9999: 10000000000000.0 in epoch seconds",
    ),
]


def said(call: Callable[[], object]) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    return str(caught.value)


def problems(call: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        call()
    return caught.value.problems


@pytest.mark.parametrize(("value", "message"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_an_argument_that_json_cannot_carry_is_told_with_its_place(value: object, message: str) -> None:
    assert said(lambda: checked(value, "x")) == message


@pytest.mark.parametrize(("call", "message"), CALLS, ids=range(len(CALLS)))
def test_a_wrong_call_is_told_what_was_given_and_what_is_right(call: Callable[[], object], message: str) -> None:
    assert said(call) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"QUEUES": 5}, '["QUEUES"]: must be a list of names or a dict of names and weights, not 5.'),
        ({"PREFIX": "a b"}, "[\"PREFIX\"]: must be 1 to 100 visible ASCII characters, not 'a b'."),
        ({"CLIENT_MIDDLEWARE": [5]}, '["CLIENT_MIDDLEWARE"][0]: must be a dotted path or (path, {kwargs}), not 5.'),
        (
            {"CLIENT_MIDDLEWARE": [("a..b", {})]},
            '["CLIENT_MIDDLEWARE"][0][0]: must be a dotted path such as "project.module.name", not \'a..b\'.',
        ),
        ({"CLIENT_MIDDLEWARE": [("a", 5)]}, '["CLIENT_MIDDLEWARE"][0][1]: must be a dict of keyword arguments, not 5.'),
        ({"WEB": {"ENVIRONMENT": 5}}, '["WEB"]["ENVIRONMENT"]: must be a string that is not empty, not 5.'),
        (
            {"WEB": {"ENVIRONMENT": {"label": "a", "tone": "b", "x": 1}}},
            '["WEB"]["ENVIRONMENT"]["x"]: unknown key.',
        ),
        (
            {"REDIS": {"CLUSTER": True, "URL": "redis://h"}},
            '["PREFIX"]: a Cluster needs a hash tag in the prefix, such as "{cogworker}:", '
            "so that all keys lie in one slot.",
        ),
    ],
)
def test_a_wrong_setting_is_told_with_its_place(settings: dict[str, object], message: str) -> None:
    assert problems(lambda: config.Config.parse(settings, {})) == (f"COGWORKER{message}",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "R: must be a URL or a dict, not a value of type int."),
        ("redis://[", "R: the URL cannot be read; special characters in its password must be percent-encoded."),
        ("http://h", "R: the URL must begin with redis://, rediss:// or unix://."),
        ("unix://", "R: the URL names no socket; write unix:///path/to/redis.sock."),
        ("unix:///", "R: the URL names no socket; write unix:///path/to/redis.sock."),
        ("redis://h/x", "R: what follows the host must be the number of a database, such as /0."),
        ("redis://h/XX", "R: what follows the host must be the number of a database, such as /0."),
        ("redis://h?colour=", "R: the URL has an unknown option 'colour'."),
        ("redis://h?db=x", "R: the database in ?db= must be a number."),
        ({"URL": "http://h"}, 'R["URL"]: the URL must begin with redis://, rediss:// or unix://.'),
        ({"URL": "redis://h", "PASWORD": "x"}, 'R["PASWORD"]: unknown key; did you mean "PASSWORD"?'),
        ({"CLUSTER": False, "PORT": 0}, 'R["PORT"]: must be a whole number from 1 to 65535, not 0.'),
        ({"PORT": 65_536}, 'R["PORT"]: must be a whole number from 1 to 65535, not 65536.'),
        ({"CLUSTER": 1, "URL": "redis://h"}, 'R["CLUSTER"]: must be True or False, not 1.'),
        ({"CLUSTER": True, "URL": "redis://h", "zz": 1}, 'R["zz"]: unknown key.'),
        ({"CLUSTER": True, "URL": "unix:///0"}, 'R["URL"]: a Cluster is reached over TCP and has only database 0.'),
        (
            {"CLUSTER": True, "URL": "redis://h/XX"},
            'R["URL"]: what follows the host must be the number of a database, such as /0.',
        ),
        ("redis://h/X5", "R: what follows the host must be the number of a database, such as /0."),
        ({"SENTINELS": [], "SERVICE": "s"}, 'R["SENTINELS"]: must name at least one Sentinel.'),
        ({"PASSWORD": 5}, 'R["PASSWORD"]: must be a string or None, not a int.'),
        ({"SENTINELS": [5], "SERVICE": "s"}, 'R["SENTINELS"][0]: must be a pair of host and port, not 5.'),
        (
            {"SENTINELS": [("", 1)], "SERVICE": "s"},
            "R[\"SENTINELS\"][0][0]: must be a string that is not empty, not ''.",
        ),
        (
            {"SENTINELS": ["h:70000"], "SERVICE": "s"},
            'R["SENTINELS"][0][1]: must be a whole number from 1 to 65535, not 70000.',
        ),
        ({"SENTINELS": ["h"], "SERVICE": "s", "colour": 1}, 'R["colour"]: unknown key.'),
        ({"SENTINELS": ["h"], "SERVICE": "s", "URL": "x"}, 'R["URL"]: does not go together with "SENTINELS".'),
        ({"CACHE": "a", "PASSWORD": "x"}, 'R["PASSWORD"]: does not go together with "CACHE".'),
        ({"CACHE": "a", "ssl_ca_certs": "x"}, 'R["ssl_ca_certs"]: unknown key.'),
        *(
            ({"CACHE": "a", name: "x"}, f'R["{name}"]: does not go together with "CACHE".')
            for name in ("CLUSTER", "DB", "HOST", "PORT", "SENTINELS", "SERVICE", "SSL")
        ),
        ({"URL": "redis://h", "CACHE": "a", "CLUSTER": True}, None),
    ],
)
def test_a_wrong_address_is_told_with_its_place(value: object, message: str | None) -> None:
    def resolve(alias: str, place: str) -> redis_target.RedisTarget:
        return redis_target.RedisTarget()

    told = problems(lambda: redis_target.read_target(value, "R", cache=resolve))
    if message is None:
        assert [problem.partition('"]: ')[0] for problem in told] == ['R["URL', 'R["CLUSTER']
    else:
        assert told == (message,)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"tag": ""}, "--tag: must be 1 to 100 printable characters, not ''."),
        ({"tag": "x\n"}, "--tag: must be 1 to 100 printable characters, not 'x\\n'."),
        ({"concurrency": "1001"}, "--concurrency: must be a whole number from 1 to 1000, not 1001."),
        ({"fetch": "fast"}, "--fetch: must be 'reliable' or 'basic', not 'fast'."),
        ({"concurrency": "1000000000"}, "--concurrency: must be a whole number of at least 1, not '1000000000'."),
    ],
)
def test_a_wrong_flag_is_told_with_its_name(flags: dict[str, Any], message: str) -> None:
    assert problems(lambda: WorkerOptions.resolve(config.Config(), Flags(**flags))) == (message,)


def answered(answer: object) -> Verdict:
    return retry.decide(count=0, retry=True, answer=answer, jitter=0)


def test_an_odd_answer_of_the_retry_hook_is_told() -> None:
    assert answered("soon").warning == (
        "retry_in returned 'soon', which is no delay: the default delay is used; "
        'return seconds (0 or more), None, "kill" or "discard"'
    )
    assert answered(10**9).warning == "retry_in returned 1000000000 seconds, over 365 days; it is used as it is"
    assert repr(retry.NO_HOOK) == "NO_HOOK"


def test_a_middleware_that_goes_on_twice_is_named() -> None:
    class Nameless:
        def __call__(self, proceed: Callable[[], object]) -> None:
            proceed()
            proceed()

    with pytest.raises(RuntimeError) as caught:
        Chain([(Nameless(), {})]).invoke(lambda: None)
    assert str(caught.value) == "middleware a middleware called proceed() twice; it may go on only once"


def test_a_job_that_nobody_has_registered_is_told_with_what_to_do() -> None:
    with pytest.raises(Exception, match=r"a\.B") as caught:
        Registry().resolve("a.B")
    assert str(caught.value).endswith("an installed app or in one listed in IMPORTS, or keep its old name as an alias")


def test_what_cannot_be_shown_is_told_so() -> None:
    told = described(Silent())
    assert told == "something that cannot be shown"
    assert described("x" * 200) == "'" + "x" * 99 + "…"


@pytest.mark.parametrize(
    ("recoveries", "message"),
    [
        (0, "its process died while running it"),
        (1, "its process died more than once while running it"),
        (2, "its process died more than 2 times while running it"),
    ],
)
def test_an_orphan_says_how_often_its_process_died(recoveries: int, message: str) -> None:
    assert payload.orphaned(job(), recoveries, 1.0)["error_message"] == message
