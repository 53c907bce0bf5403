from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from cogworker_django.core.config import Config, HistoryConfig, StatusConfig, WebConfig
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.redis_target import RedisTarget


def parse(**settings: object) -> Config:
    return Config.parse(settings, {})


def problems_of(settings: object, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        Config.parse(settings, environ)
    return list(caught.value.problems)


# Every key of Contract 3 with its default, as the contract words it.
DEFAULTS = {
    "REDIS": RedisTarget(url="redis://localhost:6379/0"),
    "PREFIX": "cogworker:",
    "CONCURRENCY": 10,
    "QUEUES": (("default", 1),),
    "FETCH": "reliable",
    "FETCH_IDLE_MAX_INTERVAL": 1.0,
    "ORPHAN_THRESHOLD": 300.0,
    "MAX_ORPHANINGS": 3,
    "SHUTDOWN_TIMEOUT": 25.0,
    "UNIQUE_LOCK_TTL": 86_400.0,
    "DEAD_MAX_JOBS": 100_000,
    "DEAD_MAX_AGE": 180 * 86_400.0,
    "MAX_PAYLOAD_BYTES": 1_048_576,
    "CLIENT_MIDDLEWARE": (),
    "SERVER_MIDDLEWARE": (),
    "DEATH_HANDLERS": (),
    "PERIODIC": (),
    "PERIODIC_CATCH_UP": True,
    "STATUS": StatusConfig(expiration=1800.0),
    "HISTORY": HistoryConfig(retention_days=30, max_entries=50_000, daily_stats_retention_days=400),
    "IMPORTS": (),
    "SENSITIVE": ("password", "passwd", "secret", "token", "api_key", "authorization", "cookie"),
    "WEB": WebConfig(),
}

GOOD: list[tuple[str, object, object]] = [
    ("REDIS", "redis://h:1/2", RedisTarget(url="redis://h:1/2")),
    ("PREFIX", "{cogworker}:", "{cogworker}:"),
    ("CONCURRENCY", 1, 1),
    ("QUEUES", ["high", "low", "high"], (("high", 2), ("low", 1))),
    ("QUEUES", ("a", "á:b@c/d-1.x"), (("a", 1), ("á:b@c/d-1.x", 1))),
    ("QUEUES", {"high": 3, "default": 1}, (("high", 3), ("default", 1))),
    ("FETCH", "basic", "basic"),
    ("FETCH_IDLE_MAX_INTERVAL", timedelta(milliseconds=250), 0.25),
    ("ORPHAN_THRESHOLD", 0.5, 0.5),
    ("MAX_ORPHANINGS", 1, 1),
    ("SHUTDOWN_TIMEOUT", 0, 0.0),
    ("UNIQUE_LOCK_TTL", timedelta(days=2), 172_800.0),
    ("DEAD_MAX_JOBS", 5, 5),
    ("DEAD_MAX_AGE", timedelta(hours=1), 3600.0),
    ("MAX_PAYLOAD_BYTES", 100, 100),
    ("CLIENT_MIDDLEWARE", ["a.b", ("c.d", {"x": 1})], (("a.b", {}), ("c.d", {"x": 1}))),
    ("SERVER_MIDDLEWARE", [["c.d", {}]], (("c.d", {}),)),
    ("DEATH_HANDLERS", ["a.b"], ("a.b",)),
    ("PERIODIC", [{"cron": "* * * * *", "job": "a.B"}], ({"cron": "* * * * *", "job": "a.B"},)),
    ("PERIODIC_CATCH_UP", False, False),
    ("STATUS", None, None),
    ("STATUS", {"EXPIRATION": timedelta(hours=1)}, StatusConfig(expiration=3600.0)),
    ("HISTORY", None, None),
    ("HISTORY", {"MAX_ENTRIES": 7}, HistoryConfig(max_entries=7)),
    ("IMPORTS", ["project.more_jobs"], ("project.more_jobs",)),
    ("SENSITIVE", [], ()),
    ("WEB", {"READ_ONLY": True, "ENVIRONMENT": "test"}, WebConfig(read_only=True, environment="test")),
    ("WEB", {"REDACT": len}, WebConfig(redact=len)),
    ("WEB", {"REDACT": "a.b", "EXTENSIONS": ["c"]}, WebConfig(redact="a.b", extensions=("c",))),
    (
        "WEB",
        {"ENVIRONMENT": {"label": "live", "tone": "red"}},
        WebConfig(environment={"label": "live", "tone": "red"}),
    ),
]

DURATIONS = ("FETCH_IDLE_MAX_INTERVAL", "ORPHAN_THRESHOLD", "UNIQUE_LOCK_TTL", "DEAD_MAX_AGE")
NUMBERS = ("CONCURRENCY", "MAX_ORPHANINGS", "DEAD_MAX_JOBS", "MAX_PAYLOAD_BYTES")
LISTS = ("CLIENT_MIDDLEWARE", "SERVER_MIDDLEWARE", "DEATH_HANDLERS", "PERIODIC", "IMPORTS", "SENSITIVE")
NO_DURATION: tuple[object, ...] = (*(-1, "5", None, True, float("nan"), float("inf"), timedelta(seconds=-1), 10**400),)

BAD: list[tuple[str, object, str]] = [
    *((key, value, "must be a whole number") for key in NUMBERS for value in (0, -1, "x", 1.5, True, None)),
    *((key, value, "must be seconds") for key in DURATIONS for value in (0, *NO_DURATION)),
    *(("SHUTDOWN_TIMEOUT", value, "must be seconds") for value in NO_DURATION),
    *((key, value, "must be a list") for key in LISTS for value in ("a.b", None, {"a": 1})),
    ("CONCURRENCY", 1_001, "from 1 to 1000"),
    ("FETCH_IDLE_MAX_INTERVAL", 0.001, "of at least 0.01"),
    ("ORPHAN_THRESHOLD", timedelta(microseconds=400), "of at least 0.01"),
    ("REDIS", None, "must be a URL or a dict"),
    ("PREFIX", "", "visible ASCII"),
    ("PREFIX", "a b", "visible ASCII"),
    ("PREFIX", None, "visible ASCII"),
    ("QUEUES", [], "at least one queue"),
    ("QUEUES", {}, "at least one queue"),
    ("QUEUES", "default", "must be a list of names"),
    ("QUEUES", None, "must be a list of names"),
    ("FETCH", "fast", "must be 'reliable' or 'basic'"),
    ("FETCH", None, "must be 'reliable' or 'basic'"),
    ("PERIODIC_CATCH_UP", 1, "must be True or False"),
    ("STATUS", 1800, "must be a dict"),
    ("HISTORY", [], "must be a dict"),
    ("WEB", None, "must be a dict"),
    ("MAX_PAYLOAD_BYTES", 2**40, "must be a whole number from 1 to"),
]

BAD_INSIDE: list[tuple[dict[str, object], str]] = [
    ({"QUEUES": ["good", "not good"]}, '["QUEUES"][1]: '),
    ({"QUEUES": ["good", 7]}, '["QUEUES"][1]: '),
    ({"QUEUES": {"good": 0}}, '["QUEUES"]["good"]: must be a whole number'),
    ({"QUEUES": {"x" * 129: 1}}, "is not allowed"),
    ({"CLIENT_MIDDLEWARE": ["a..b"]}, '["CLIENT_MIDDLEWARE"][0]: must be a dotted path'),
    ({"SERVER_MIDDLEWARE": [("a.b", {1: 2})]}, '["SERVER_MIDDLEWARE"][0][1]: must be a dict of keyword'),
    ({"SERVER_MIDDLEWARE": [("a.b",)]}, '["SERVER_MIDDLEWARE"][0]: must be a dotted path or'),
    ({"DEATH_HANDLERS": [len]}, '["DEATH_HANDLERS"][0]: must be a dotted path'),
    ({"STATUS": {"EXPIRATION": 0}}, '["STATUS"]["EXPIRATION"]: must be seconds'),
    ({"STATUS": {"EXPIRE": 5}}, '["STATUS"]["EXPIRE"]: unknown key; did you mean "EXPIRATION"?'),
    ({"HISTORY": {"RETENTION_DAYS": 0}}, '["HISTORY"]["RETENTION_DAYS"]: must be a whole number'),
    ({"HISTORY": {"MAX_ENTRIES": None}}, '["HISTORY"]["MAX_ENTRIES"]: must be a whole number'),
    ({"IMPORTS": [""]}, '["IMPORTS"][0]: must be a dotted path'),
    ({"SENSITIVE": ["a", ""]}, '["SENSITIVE"][1]: must be a string'),
    ({"WEB": {"TIME_FORMAT": ""}}, '["WEB"]["TIME_FORMAT"]: must be a string'),
    ({"WEB": {"LIVE_UPDATE_INTERVAL": 0}}, '["WEB"]["LIVE_UPDATE_INTERVAL"]: must be seconds'),
    ({"WEB": {"HISTORY_PER_PAGE": 0}}, '["WEB"]["HISTORY_PER_PAGE"]: must be a whole number'),
    ({"WEB": {"READ_ONLY": "no"}}, '["WEB"]["READ_ONLY"]: must be True or False'),
    ({"WEB": {"LOGIN_URL": 1}}, '["WEB"]["LOGIN_URL"]: must be a string'),
    ({"WEB": {"REDACT": "no path"}}, '["WEB"]["REDACT"]: must be a dotted path'),
    ({"WEB": {"METRICS": 0}}, '["WEB"]["METRICS"]: must be True or False'),
    ({"WEB": {"METRICS_TOKEN": ""}}, '["WEB"]["METRICS_TOKEN"]: must be a string'),
    ({"WEB": {"ENVIRONMENT": {"label": "x"}}}, '["WEB"]["ENVIRONMENT"]["tone"]: must be a string'),
    ({"WEB": {"EXTENSIONS": ["a b"]}}, '["WEB"]["EXTENSIONS"][0]: must be a dotted path'),
    ({"CONCURENCY": 5}, '["CONCURENCY"]: unknown key; did you mean "CONCURRENCY"?'),
    ({"concurrency": 5}, '["concurrency"]: unknown key; did you mean "CONCURRENCY"?'),
    ({"TURBO": True}, '["TURBO"]: unknown key.'),
]


def test_the_defaults_are_those_of_the_contract() -> None:
    config = parse()
    assert {field.name.upper() for field in dataclasses.fields(Config)} == set(DEFAULTS)
    assert {key: getattr(config, key.lower()) for key in DEFAULTS} == DEFAULTS
    assert config == Config()


@pytest.mark.parametrize(("key", "value", "expected"), GOOD)
def test_a_good_value_is_read(key: str, value: object, expected: object) -> None:
    assert getattr(parse(**{key: value}), key.lower()) == expected


def test_every_key_has_a_good_and_a_bad_value_in_these_tables() -> None:
    assert {key for key, _, _ in GOOD} == set(DEFAULTS)
    assert {key for key, _, _ in BAD} == set(DEFAULTS)


@pytest.mark.parametrize(("key", "value", "expected"), BAD)
def test_a_bad_value_is_refused_with_its_key(key: str, value: object, expected: str) -> None:
    (problem,) = problems_of({key: value})
    assert problem.startswith(f'COGWORKER["{key}"]: ')
    assert expected in problem


@pytest.mark.parametrize(("settings", "expected"), BAD_INSIDE)
def test_a_fault_inside_a_value_is_named_by_its_place(settings: dict[str, object], expected: str) -> None:
    (problem,) = problems_of(settings)
    assert problem.startswith("COGWORKER[")
    assert expected in problem


def test_all_faults_come_together_with_the_contradictions() -> None:
    found = problems_of(
        {
            "REDIS": {"CLUSTER": True, "URL": "redis://node"},
            "PREFIX": "plain:",
            "QUEUES": ["ok", "", "no no"],
            "CONCURRENCY": 0,
            "COLOUR": "red",
        }
    )
    assert [problem.partition(":")[0] for problem in found] == [
        'COGWORKER["COLOUR"]',
        'COGWORKER["CONCURRENCY"]',
        'COGWORKER["QUEUES"][1]',
        'COGWORKER["QUEUES"][2]',
        'COGWORKER["PREFIX"]',
    ]


@pytest.mark.parametrize("prefix", ["{}:", "cogworker:", "a}{:", "{:"])
def test_a_cluster_needs_a_hash_tag_in_the_prefix(prefix: str) -> None:
    (problem,) = problems_of({"REDIS": {"CLUSTER": True, "URL": "redis://node"}, "PREFIX": prefix})
    assert "hash tag" in problem


def test_a_cluster_with_a_hash_tag_is_accepted() -> None:
    config = parse(REDIS={"CLUSTER": True, "URL": "redis://node"}, PREFIX="jobs:{cogworker}:")
    assert config.redis.cluster


@pytest.mark.parametrize("settings", [None, [], "redis://h", 5])
def test_settings_that_are_no_dict_are_refused(settings: Any) -> None:
    assert problems_of(settings)[0].startswith("COGWORKER: must be a dict")


def test_the_environment_gives_the_address_when_the_settings_do_not() -> None:
    environ = {"REDIS_URL": "redis://from-environment:1/2"}
    assert Config.parse({}, environ).redis.url == "redis://from-environment:1/2"
    assert Config.parse({"REDIS": "redis://from-settings"}, environ).redis.url == "redis://from-settings"


def test_a_faulty_address_in_the_environment_is_named_by_its_variable() -> None:
    assert problems_of({}, REDIS_URL="localhost:6379")[0].startswith("REDIS_URL: ")


def test_the_intervals_follow_the_orphan_threshold() -> None:
    default, scaled = parse(), parse(ORPHAN_THRESHOLD=3)
    assert (default.beat_interval, default.presence_ttl, default.recovery_interval) == (5.0, 60.0, 60.0)
    assert (scaled.beat_interval, scaled.presence_ttl, scaled.recovery_interval) == (1.0, 3.0, 3.0)


def test_a_configuration_cannot_be_changed_and_hides_the_token() -> None:
    config = parse(WEB={"METRICS_TOKEN": "hunter2"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.concurrency = 5  # type: ignore[misc]  # it is the point
    assert "hunter2" not in repr(config)


def test_periodic_entries_are_left_to_where_those_of_the_code_are_checked() -> None:
    """Case B021: else the faults of the one kind would hide those of the other."""
    entries: list[object] = ["x", {"when": 1}, {"name": []}]
    assert parse(PERIODIC=entries).periodic == tuple(entries)


def test_the_alias_of_a_cache_is_resolved_where_the_settings_are_read() -> None:
    def cache(alias: str, place: str) -> RedisTarget:
        return RedisTarget(host=f"{alias} at {place}")

    target = Config.parse({"REDIS": {"CACHE": "jobs"}}, {}, cache).redis
    assert target.host == 'jobs at COGWORKER["REDIS"]["CACHE"]'


def test_an_environment_may_be_a_label_with_a_tone() -> None:
    environment = {"label": "Production", "tone": "red"}
    assert parse(WEB={"ENVIRONMENT": environment}).web.environment == environment
