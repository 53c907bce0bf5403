from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cogworker_django.core.registry import Registry
from cogworker_django.web.masking import MASK, Mask
from tests.web.pages import MOUNT, Pages

NAMES = ("password", "token", "api_key")


class Charge:
    def perform(self, amount: int, card_token: str = "", *, note: str = "") -> None: ...


@pytest.fixture
def mask() -> Mask:
    registry: Registry[Any] = Registry()
    registry.add("shop.Charge", (), Charge)
    return Mask(NAMES, None, registry)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"password": "x"}, {"password": MASK}),
        ({"Password": ["a", {"b": 1}]}, {"Password": MASK}),
        ({"user_password_2": 5}, {"user_password_2": MASK}),
        ({"API-Key": None}, {"API-Key": MASK}),
        ({"a": [{"b": {"token": 1, "c": 2}}]}, {"a": [{"b": {"token": MASK, "c": 2}}]}),
        ({"plain": "password"}, {"plain": "password"}),
    ],
)
def test_names_decide_at_any_depth(mask: Mask, given: dict[str, Any], shown: dict[str, Any]) -> None:
    assert mask.arguments("a.B", [given], {}).args == [shown]
    assert mask.arguments("a.B", [], given).kwargs == shown
    assert mask.value(given) == shown


def test_the_jobs_own_parameters_have_names_too(mask: Mask) -> None:
    found = mask.arguments("shop.Charge", [5, "tok_12345", "more"], {"note": "n"})
    assert (found.args, found.kwargs) == ([5, MASK, "more"], {"note": "n"})
    assert found.secrets == ("tok_12345",)
    assert found.compact == f'5, "{MASK}", "more", note="n"'


def test_messages_lose_the_same_values_and_what_looks_like_them(mask: Mask) -> None:
    secrets = mask.arguments("a.B", [], {"token": "S3CR3T", "password": ["deep-one", "x"]}).secrets
    assert mask.text("KeyError: 'S3CR3T' and deep-one, x", secrets) == f"KeyError: '{MASK}' and {MASK}, x"
    for text in ("token=abc def", "api-key: abc def", '"password": "a b"', "my_token = 'a b'", "TOKEN=abc"):
        shown = mask.text(text)
        assert MASK in shown and "abc" not in shown and "a b" not in shown, text
    assert mask.text("a token was lost") == "a token was lost"


def test_deep_and_empty_arguments_are_no_trouble(mask: Mask) -> None:
    deep: Any = "end"
    for _ in range(400):
        deep = [deep]
    assert "…" in mask.arguments("a.B", [deep], {}).compact
    assert mask.arguments("a.B", [], {}).compact == ""
    assert Mask((), None, Registry()).text("token=abc") == "token=abc"


def test_what_redact_returns_counts_and_nothing_is_shown_when_it_fails() -> None:
    def half(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        assert MASK in kwargs.values(), "it sees what is masked already"
        return args[:1], {}

    def broken(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return "nonsense"

    assert Mask(NAMES, half, Registry()).arguments("a.B", [1, 2], {"token": "x"}).compact == "1"
    assert "failed" in Mask(NAMES, broken, Registry()).arguments("a.B", ["hidden"], {"token": "x"}).compact
    unencodable: Any = lambda *_: ([object()], {})  # noqa: E731
    assert "failed" in Mask(NAMES, unencodable, Registry()).arguments("a.B", [1], {"token": "x"}).compact


def test_a_planted_secret_is_on_no_page(root: Pages) -> None:
    """Walked from the first page on, as somebody who may see arguments."""
    secret = "S3CR3T-value"
    fields: dict[str, Any] = {"args": [{"password": secret}, [{"Api_Key": [secret]}]], "kwargs": {"my_token": secret}}
    error: dict[str, Any] = {"error_class": "KeyError", "error_message": f"no key {secret}", "retry_count": 1}
    for number, key in enumerate(("retry", "dead", "schedule")):
        root.add(key, number, 1e9, **fields, **error, token=secret)
        attempt = {
            "attempt": 1,
            "failed_at": 5.0,
            "outcome": "retry",
            "error_class": "E",
            "error_message": f"at {secret}",
        }
        root.redis.rpush(f"t:job_attempts:{number:024}", json.dumps(attempt | {"backtrace": [f"x = '{secret}'"]}))
        status = {"status": "retrying", "message": f"with {secret}", "result": {"token": secret, "said": secret}}
        root.redis.set(f"t:status:{number:024}", json.dumps(status | {"queue": "default", "class": "a.B"}))
    root.push(7, **fields)
    job = {"class": "a.B", "jid": "running", "queue": "default", **fields}
    root.beat(work=[{"thread": "t", "queue": "default", "run_at": 1e9, "payload": job}])
    shown = {"cron": "* * * * *", "timezone": "UTC", "job": "a.B", "args": fields["args"], "kwargs": fields["kwargs"]}
    root.redis.hset("t:periodic:entries", "entry", json.dumps(shown))
    run = {"jid": "r", "class": "a.B", "queue": "q", "status": "failed", "finished_at": 5.0, "backtrace": [secret]}
    for name in ("all", "failed"):
        root.redis.rpush(f"t:history:{name}", json.dumps(run | fields | error))
    todo, seen = [MOUNT], set[str]()
    while todo:
        path = todo.pop()
        if path in seen or len(seen) > 150:
            continue
        seen.add(path)
        page = root.browser.get(path).content.decode()
        assert secret not in page, path
        todo += [link.replace("&amp;", "&") for link in re.findall(r'href="([^"#]+)', page) if link.startswith(MOUNT)]
    assert len(seen) > 40
