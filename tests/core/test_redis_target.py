from __future__ import annotations

import pytest

from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.redis_target import RedisTarget, read_target

PLACE = 'COGWORKER["REDIS"]'


def problems_of(value: object) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read_target(value, PLACE)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        ("redis://localhost", "redis://localhost:6379/0"),
        ("redis://user:pw@cache.example:6380/3", "redis://cache.example:6380/3"),
        ("rediss://:pw@[::1]:6380?db=4", "rediss://[::1]:6380/4"),
        ("unix://user:pw@/run/redis.sock?db=2", "unix:///run/redis.sock?db=2"),
        ({"URL": "redis://h/1", "PASSWORD": "pw", "ssl_ca_certs": "/ca.pem"}, "redis://h:6379/1"),
        ({}, "redis://localhost:6379/0"),
        ({"HOST": "h", "PORT": 1, "DB": 2, "PASSWORD": "pw"}, "redis://h:1/2"),
        ({"HOST": "::1"}, "redis://[::1]:6379/0"),
        (
            {"SENTINELS": [("a", 1), "b", "c:3"], "SERVICE": "main", "PASSWORD": "pw"},
            "main/0 by Sentinel at a:1, b:26379, c:3",
        ),
        ({"CLUSTER": True, "URL": "redis://:pw@node:7000"}, "redis://node:7000/0 (Cluster)"),
        ({"CLUSTER": False, "HOST": "h"}, "redis://h:6379/0"),
    ],
)
def test_every_form_is_read_and_shown_without_its_secrets(value: object, safe: str) -> None:
    target = read_target(value, PLACE)
    assert target.safe == safe
    assert "pw" not in repr(target)


def test_what_belongs_to_the_client_reaches_it_in_its_own_spelling() -> None:
    target = read_target(
        {"HOST": "h", "PASSWORD": "pw", "USERNAME": "me", "ssl_keyfile": None, "client_name": "us"}, PLACE
    )
    assert target == RedisTarget(host="h", password="pw", options={"username": "me", "client_name": "us"})


def test_a_host_with_tls_becomes_the_url_that_says_so() -> None:
    target = read_target({"HOST": "::1", "PASSWORD": "pw", "SSL": True, "ssl_ca_certs": "/ca"}, PLACE)
    assert target == RedisTarget(url="rediss://[::1]:6379/0", options={"password": "pw", "ssl_ca_certs": "/ca"})


def test_sentinels_with_tls_tell_the_client_so() -> None:
    target = read_target({"SENTINELS": ["a"], "SERVICE": "m", "SSL": True}, PLACE)
    assert target.options == {"ssl": True}


def test_a_password_beside_a_url_is_an_option_of_the_client() -> None:
    assert read_target({"URL": "redis://h", "PASSWORD": "pw"}, PLACE).options == {"password": "pw"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, ": must be a URL or a dict"),
        ("", "begin with redis://"),
        ("http://h", "begin with redis://"),
        ("redis://:se/cret@h:1/0", "percent-encoded"),
        ("redis://h:99999", "percent-encoded"),
        ("redis://h:0", "the port must be"),
        ("redis://h/main", "number of a database"),
        ("redis://h?db=x", "must be a number"),
        ("redis://h?socket_timeout=1", "cogworker's own"),
        ("redis://h?colour=red", "unknown option"),
        ("unix://", "names no socket"),
        ({"URL": 5}, '["URL"]: must be a string'),
        ({"URL": "redis://h", "HOST": "h"}, '["HOST"]: does not go together with "URL"'),
        ({"URL": "redis://h", "DB": 1}, '["DB"]: does not go together with "URL"'),
        ({"URL": "redis://:a@h", "PASSWORD": "b"}, '["PASSWORD"]: the URL holds a password already'),
        ({"URL": "redis://h", "MAX_CONNECTIONS": 5}, '["MAX_CONNECTIONS"]: the pool'),
        ({"HOST": "h", "retry": 5}, '["retry"]: the pool'),
        ({"HOTS": "h"}, '["HOTS"]: unknown key; did you mean "HOST"?'),
        ({"HOST": ""}, '["HOST"]: must be a string'),
        ({"PORT": "6379"}, '["PORT"]: must be a whole number'),
        ({"DB": -1}, '["DB"]: must be a whole number'),
        ({"PASSWORD": 1234}, '["PASSWORD"]: must be a string or None'),
        ({"SSL": "yes"}, '["SSL"]: must be True or False'),
        ({"URL": "redis://h", "SSL": True}, '["SSL"]: does not go together with "URL"'),
        ({"SENTINELS": [], "SERVICE": "m"}, '["SENTINELS"]: must name at least one'),
        ({"SENTINELS": [("h",)], "SERVICE": "m"}, '["SENTINELS"][0]: must be a pair'),
        ({"SENTINELS": [("h", "x")], "SERVICE": "m"}, '["SENTINELS"][0][1]: must be a whole number'),
        ({"SENTINELS": [("h", 1)]}, '["SERVICE"]: must be a string'),
        ({"SERVICE": "m"}, '["SERVICE"]: does not go together with "HOST"'),
        ({"CLUSTER": 1, "URL": "redis://h"}, '["CLUSTER"]: must be True or False'),
        ({"CLUSTER": True}, '["URL"]: a Cluster needs the URL'),
        ({"CLUSTER": True, "URL": "redis://h/1"}, '["URL"]: a Cluster is reached over TCP and has only'),
        ({"CLUSTER": True, "URL": "unix:///s"}, '["URL"]: a Cluster is reached over TCP'),
        ({"CACHE": "default", "URL": "redis://h"}, '["URL"]: does not go together with "CACHE"'),
        ({"CACHE": "default"}, '["CACHE"]: caches are known inside a Django project only'),
        ({"CACHE": None}, '["CACHE"]: must be a string'),
    ],
)
def test_a_faulty_address_is_refused_with_its_key(value: object, expected: str) -> None:
    found = problems_of(value)
    assert any(expected in problem for problem in found)
    assert all(problem.startswith(PLACE) for problem in found)


def test_all_faults_of_an_address_come_together() -> None:
    assert len(problems_of({"PORT": 0, "DB": "x", "PASSWORD": 1, "colour": "red", "retry": 1})) == 5


@pytest.mark.parametrize(
    "value",
    [
        "redis://:hunter2/@h:1/0",
        "http://:hunter2@h",
        "redis://h?password=hunter2&socket_timeout=1",
        {"URL": "redis://:hunter2@h:0", "PASSWORD": "hunter2"},
        {"PASSWORD": ["hunter2"]},
    ],
)
def test_no_message_repeats_a_password(value: object) -> None:
    assert "hunter2" not in "".join(problems_of(value))


def test_the_alias_of_a_cache_is_resolved_by_whoever_knows_the_caches() -> None:
    asked = []

    def cache(alias: str, place: str) -> RedisTarget:
        asked.append((alias, place))
        return RedisTarget(host="cache")

    assert read_target({"CACHE": "jobs"}, PLACE, cache=cache).host == "cache"
    assert asked == [("jobs", f'{PLACE}["CACHE"]')]


@pytest.mark.parametrize(
    ("value", "target"),
    [
        (
            {
                "SENTINELS": ["[::1]:7", "a:b", ("c", 65_535)],
                "SERVICE": "m",
                "DB": 2,
                "PASSWORD": "pw",
                "username": "u",
            },
            RedisTarget(
                sentinels=(("[::1]", 7), ("a:b", 26_379), ("c", 65_535)),
                service="m",
                db=2,
                password="pw",
                options={"username": "u"},
            ),
        ),
        (
            {"SENTINELS": ["a"], "SERVICE": "m", "SSL": False},
            RedisTarget(sentinels=(("a", 26_379),), service="m"),
        ),
        (
            {"HOST": "h", "PASSWORD": "pw", "PORT": 65_535, "client_name": "x"},
            RedisTarget(host="h", password="pw", port=65_535, options={"client_name": "x"}),
        ),
        (
            {"CLUSTER": True, "URL": "redis://h/0", "username": "u"},
            RedisTarget(url="redis://h/0", cluster=True, options={"username": "u"}),
        ),
        ({"CLUSTER": True, "URL": "redis://h/"}, RedisTarget(url="redis://h/", cluster=True)),
        ("redis://h/", RedisTarget(url="redis://h/")),
        ("redis://h/7/", RedisTarget(url="redis://h/7/")),
    ],
)
def test_every_part_of_an_address_reaches_the_target(value: object, target: RedisTarget) -> None:
    assert read_target(value, PLACE) == target


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("unix:///run/a%20b.sock", "unix:///run/a b.sock"),
        ("redis://", "redis://localhost:6379/0"),
        ("redis://h/3/", "redis://h:6379/3"),
        ("redis://h/?db=4", "redis://h:6379/4"),
    ],
)
def test_a_url_is_shown_with_what_it_leaves_out(url: str, safe: str) -> None:
    assert RedisTarget(url=url).safe == safe


def test_a_fault_in_one_key_hides_no_fault_of_another_and_adds_none() -> None:
    found = problems_of({"SENTINELS": 5, "SERVICE": "", "DB": "x", "SSL": "x", "PASSWORD": 5})
    assert [problem.removeprefix(PLACE).partition(": ")[0] for problem in found] == [
        '["SENTINELS"]',
        '["SERVICE"]',
        '["DB"]',
        '["PASSWORD"]',
        '["SSL"]',
    ]


def test_the_clients_own_options_belong_to_every_form_but_that_of_a_cache() -> None:
    for form in ({"URL": "redis://h"}, {"HOST": "h"}, {"SENTINELS": ["a"], "SERVICE": "m"}):
        assert read_target({**form, "ssl_ca_certs": "/ca.pem"}, PLACE).options == {"ssl_ca_certs": "/ca.pem"}
