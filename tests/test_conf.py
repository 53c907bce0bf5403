from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
import redis
from django.test import override_settings
from django.utils import timezone

from cogworker_django import conf, job, runtime
from cogworker_django.cache_target import cache_target
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.redis_target import RedisTarget
from tests.support import finished, manage, project

PLACE = 'COGWORKER["REDIS"]["CACHE"]'
DJANGO_REDIS = "django_redis.cache.RedisCache"


@job
def send(number: int) -> None: ...


def outer(job: Any, payload: Any, queue: str, proceed: Any) -> Any:
    return proceed()


def on_death(payload: Any, exception: BaseException) -> None: ...


def test_the_runtime_is_built_from_the_settings_and_only_once() -> None:
    hooks = {
        "SERVER_MIDDLEWARE": ["tests.test_conf.outer"],
        "DEATH_HANDLERS": ["tests.test_conf.on_death"],
    }
    with override_settings(COGWORKER={"PREFIX": "one:", "CONCURRENCY": 3, **hooks}):
        built = runtime.current()
        assert runtime.current() is built
        assert (built.config.prefix, built.config.concurrency) == ("one:", 3)
        assert built.server_chain.entries == ((outer, {}),)
        assert built.death_handlers == (on_death,)


def test_overriding_the_settings_takes_effect_and_ends() -> None:
    before = runtime.current().config
    with override_settings(COGWORKER={"PREFIX": "other:"}):
        assert runtime.current().config.prefix == "other:"
    assert runtime.current().config == before


def test_overriding_other_settings_leaves_the_runtime_alone() -> None:
    built = runtime.current()
    with override_settings(DEBUG=True):
        assert runtime.current() is built


def test_a_worker_sizes_its_connections_for_its_own_threads() -> None:
    assert conf.build_runtime(concurrency=37).config.concurrency == 37


def test_faulty_settings_are_told_when_the_runtime_is_first_needed() -> None:
    with (
        override_settings(COGWORKER={"SERVER_MIDDLEWARE": ["no.where", "else.where"]}),
        pytest.raises(ConfigurationError) as caught,
    ):
        runtime.current()
    assert len(caught.value.problems) == 2


def test_a_job_is_pushed_to_where_the_settings_say(redis_url: str, redis_client: redis.Redis) -> None:
    with override_settings(COGWORKER={"REDIS": redis_url, "PREFIX": "conf:"}):
        assert send.perform_async(1)
    assert redis_client.llen("conf:queue:default") == 1


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("America/New_York", "2026-07-01T16:00:00+00:00"), ("Asia/Tokyo", "2026-07-01T03:00:00+00:00")],
)
def test_a_naive_datetime_is_meant_in_djangos_current_zone(
    redis_url: str, redis_client: redis.Redis, zone: str, expected: str
) -> None:
    noon = datetime.datetime(2026, 7, 1, 12, 0)
    far = datetime.datetime.fromisoformat(expected).timestamp() + 100 * 365 * 86_400
    with override_settings(COGWORKER={"REDIS": redis_url}), timezone.override(ZoneInfo(zone)):
        assert send.perform_at(noon + datetime.timedelta(days=100 * 365), 1)
    ((_, due),) = cast("list[tuple[bytes, float]]", redis_client.zrange("cogworker:schedule", 0, -1, withscores=True))
    assert abs(due - far) <= 3600  # a century on, daylight saving may begin on another day


def test_naive_datetimes_do_not_depend_on_the_time_zone_of_the_process() -> None:
    noon = datetime.datetime(2026, 7, 1, 12, 0)
    with override_settings(TIME_ZONE="America/New_York"):  # sets and resets the process's zone, too
        os.environ["TZ"] = "Asia/Kolkata"
        time.tzset()
        assert conf._in_current_zone(noon) == datetime.datetime(2026, 7, 1, 16, tzinfo=datetime.UTC).timestamp()


# Where the server behind a cache is.


@pytest.mark.parametrize(
    ("cache", "expected"),
    [
        ({"LOCATION": "redis://:pw@h:1/2"}, RedisTarget(url="redis://:pw@h:1/2")),
        ({"LOCATION": "redis://a/1,redis://b/1"}, RedisTarget(url="redis://a/1")),
        ({"LOCATION": ["redis://a/1", "redis://b/1"]}, RedisTarget(url="redis://a/1")),
        ({"LOCATION": "unix:///run/r.sock?db=1"}, RedisTarget(url="unix:///run/r.sock?db=1")),
        (
            {"LOCATION": "redis://h/0?max_connections=7&socket_timeout=1", "OPTIONS": {"SOCKET_TIMEOUT": 3}},
            RedisTarget(url="redis://h/0"),
        ),
        (
            {
                "LOCATION": "redis://h/0",
                "OPTIONS": {"PASSWORD": "pw", "USERNAME": "me", "PARSER_CLASS": "x.y"},
            },
            RedisTarget(url="redis://h/0", options={"password": "pw", "username": "me"}),
        ),
        (
            {"LOCATION": "redis://:url@h/0", "OPTIONS": {"PASSWORD": "option"}},
            RedisTarget(url="redis://:url@h/0"),
        ),
        (
            {
                "LOCATION": "rediss://h/0",
                "OPTIONS": {"CONNECTION_POOL_KWARGS": {"ssl_cert_reqs": "none", "max_connections": 9}},
            },
            RedisTarget(url="rediss://h/0", options={"ssl_cert_reqs": "none"}),
        ),
        (
            {
                "LOCATION": "redis://main/3?is_master=0",
                "OPTIONS": {
                    "SENTINELS": [("s", 26379)],
                    "SENTINEL_KWARGS": {"password": "sp"},
                    "PASSWORD": "pw",
                },
            },
            RedisTarget(
                sentinels=(("s", 26379),),
                service="main",
                db=3,
                password="pw",
                options={"sentinel_kwargs": {"password": "sp"}},
            ),
        ),
    ],
)
def test_the_address_of_a_cache_is_taken_over_and_nothing_else(cache: dict[str, Any], expected: RedisTarget) -> None:
    assert cache_target({"jobs": {"BACKEND": DJANGO_REDIS, **cache}}, "jobs", PLACE) == expected


@pytest.mark.parametrize(
    ("caches", "expected"),
    [
        ({"job": {"LOCATION": "redis://h"}}, 'CACHES["jobs"]: no such cache; did you mean "job"?'),
        ({"jobs": {"LOCATION": "/var/tmp/cache"}}, 'the cache "jobs" is not in Redis'),
        ({"jobs": {}}, 'the cache "jobs" is not in Redis'),
        ({"jobs": {"LOCATION": "redis://:hunter2@h/x"}}, "the number of a database"),
        (
            {"jobs": {"LOCATION": "redis://m/0", "OPTIONS": {"SENTINELS": [("s", "x")]}}},
            '["SENTINELS"][0][1]: must be a whole number',
        ),
    ],
)
def test_a_cache_that_is_no_address_is_refused(caches: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        cache_target(caches, "jobs", PLACE)
    assert expected in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_settings_may_name_a_cache(redis_url: str, redis_client: redis.Redis) -> None:
    caches = {"default": {"BACKEND": DJANGO_REDIS, "LOCATION": redis_url}}
    with override_settings(COGWORKER={"REDIS": {"CACHE": "default"}}, CACHES=caches):
        assert send.perform_async(1)
    assert redis_client.llen("cogworker:queue:default") == 1


# What happens when Django loads the app.


JOBS = "from cogworker_django import job\n@job\ndef {name}(): ...\n"
SHOW = "from cogworker_django.definition import REGISTRY; print(*REGISTRY.names())"


def test_jobs_of_every_installed_app_and_of_imports_are_known_at_once(tmp_path: Path) -> None:
    where = project(tmp_path, {"IMPORTS": ["shop.more"]})
    (tmp_path / "shop" / "jobs.py").write_text(JOBS.format(name="first"))
    (tmp_path / "shop" / "more.py").write_text(JOBS.format(name="second"))
    code, out, err = finished(manage("shell", "--no-imports", "-c", SHOW, **where))
    assert (code, out.split()) == (0, ["shop.jobs.first", "shop.more.second"]), err


def test_faulty_settings_do_not_keep_django_from_starting(tmp_path: Path) -> None:
    where = project(tmp_path, {"IMPORTS": ["shop.nowhere"], "PERIODIC_CATCH_UP": False})
    code, _, err = finished(manage("check", **where))
    assert code == 1
    assert 'COGWORKER["IMPORTS"][0]: there is no module shop.nowhere.' in err
    assert "Traceback" not in err


def test_an_error_inside_a_module_of_imports_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    where = project(tmp_path, {"IMPORTS": ["shop.more"]})
    (tmp_path / "shop" / "more.py").write_text("import no_such_dependency\n")
    code, _, err = finished(manage("check", **where))
    assert code == 1
    assert "No module named 'no_such_dependency'" in err


@pytest.mark.parametrize("words", [("check",), ("shell", "-c", "pass"), ("migrate", "--plan")])
def test_no_other_command_starts_a_thread_or_touches_redis(
    tmp_path: Path, redis_url: str, redis_client: redis.Redis, words: tuple[str, ...]
) -> None:
    where = project(tmp_path, {"REDIS": redis_url})
    (tmp_path / "shop" / "apps.py").write_text(
        "import atexit, threading\n"
        "from django.apps import AppConfig\n"
        "class Shop(AppConfig):\n"
        "    name = 'shop'\n"
        "    def ready(self):\n"
        "        atexit.register(lambda: print('threads', threading.active_count()))\n"
    )
    redis_client.config_resetstat()
    code, out, err = finished(manage(*words, **where))
    assert code == 0, err
    assert "threads 1" in out
    # Ours is the only connection that has spoken since.
    assert redis_client.info("stats")["total_connections_received"] == 0
    assert redis_client.keys() == []
