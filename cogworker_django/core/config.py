"""The settings of one process: read once, checked as a whole, frozen (Contract 3).

The names of keys, their defaults and limits stand in the fields below and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.names import check_queue
from cogworker_django.core.redis_target import DEFAULT_URL, RedisTarget, checked_url, read_target
from cogworker_django.core.settings import (
    Problems,
    boolean,
    dotted_path,
    duration,
    fault,
    integer,
    listing,
    one_of,
    optional,
    read_fields,
    secret,
    section,
    setting,
    text,
    unknown_keys,
)
from cogworker_django.core.text import described

Middleware = tuple[str, Mapping[str, object]]
"""A dotted path and the keyword arguments for what it names."""
Weights = tuple[tuple[str, int], ...]
"""Queue names with their weights, in the order given."""

PLACE = "COGWORKER"
URL_VARIABLE = "REDIS_URL"
DAY = 86_400.0  # seconds
LARGEST_STRING = 512 * 1024 * 1024  # bytes: what Redis takes as one value
SHORTEST = 0.01  # seconds: what is done at such an interval must not keep the process or the server busy
MOST_THREADS = 1_000  # far above what one interpreter can use: more is a slip of the hand that fills the memory
HASH_TAG = re.compile(r"[^{]*\{[^}]+\}")  # Redis Cluster hashes only what the first braces hold
PREFIX = re.compile(r"[!-~]{1,100}")  # visible ASCII: a prefix must survive every tool that prints keys


def queue_weights(value: object, place: str) -> Weights:
    """Read queues: a list of names, in which repeats are weights, or a dict of names and weights."""
    if isinstance(value, Mapping):
        given = [(name, weight, f'{place}["{name}"]') for name, weight in value.items()]
    elif isinstance(value, (list, tuple)):
        given = [(name, 1, f"{place}[{index}]") for index, name in enumerate(value)]
    else:
        raise fault(place, f"must be a list of names or a dict of names and weights, not {described(value)}.")
    problems = Problems()
    weights: dict[str, int] = {}
    for name, weight, at in given:
        with problems:
            known = queue_name(name, at)
            weights[known] = weights.get(known, 0) + integer()(weight, at)
    if not given:
        problems.add(place, "must name at least one queue.")
    problems.check()
    return tuple(weights.items())


def queue_name(value: object, place: str) -> str:
    """Read the name of a queue."""
    try:
        return check_queue(value)
    except (TypeError, ValueError) as error:
        raise fault(place, f"{error}.") from None


def _prefix(value: object, place: str) -> str:
    if not isinstance(value, str) or not PREFIX.fullmatch(value):
        raise fault(place, f"must be 1 to 100 visible ASCII characters, not {described(value)}.")
    return value


def _middleware(value: object, place: str) -> Middleware:
    if isinstance(value, str):
        return dotted_path(value, place), {}
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise fault(place, f"must be a dotted path or (path, {{kwargs}}), not {described(value)}.")
    path, kwargs = dotted_path(value[0], f"{place}[0]"), value[1]
    if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
        raise fault(f"{place}[1]", f"must be a dict of keyword arguments, not {described(kwargs)}.")
    return path, dict(kwargs)


def _declared(value: object, place: str) -> object:
    """An entry is checked with those of the code, so that the faults of all are told at once."""
    return value


def _redact(value: object, place: str) -> object:
    return value if callable(value) else dotted_path(value, place)


def _environment(value: object, place: str) -> str | Mapping[str, str]:
    if not isinstance(value, Mapping):
        return text(value, place)
    problems = Problems()
    problems.found.extend(unknown_keys(value, ("label", "tone"), place))
    for key in ("label", "tone"):
        with problems:
            text(value.get(key), f'{place}["{key}"]')
    problems.check()
    return dict(value)


@dataclass(frozen=True, kw_only=True)
class StatusConfig:
    """How long the status of a job is kept."""

    expiration: float = setting(1800.0, duration())


@dataclass(frozen=True, kw_only=True)
class HistoryConfig:
    """How much of the past is kept."""

    retention_days: int = setting(30, integer())
    max_entries: int = setting(50_000, integer())
    daily_stats_retention_days: int = setting(400, integer())


@dataclass(frozen=True, kw_only=True)
class WebConfig:
    """How the pages look and who may see what (Contract 6)."""

    time_format: str = setting("%Y-%m-%d %H:%M:%S", text)
    live_update_interval: float = setting(5.0, duration())
    history_per_page: int = setting(50, integer(1, 1000))
    read_only: bool = setting(False, boolean)
    login_url: str | None = setting(None, optional(text))
    redact: object = setting(None, optional(_redact))
    metrics: bool = setting(True, boolean)
    metrics_token: str | None = setting(None, optional(secret), hidden=True)
    environment: str | Mapping[str, str] | None = setting(None, optional(_environment))
    extensions: tuple[str, ...] = setting((), listing(dotted_path))


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one process. Durations are seconds.

    `Config()` holds the defaults; `Config.parse` reads what a project has written.
    """

    redis: RedisTarget = field(default_factory=lambda: RedisTarget(url=DEFAULT_URL))
    prefix: str = setting("cogworker:", _prefix)
    concurrency: int = setting(10, integer(1, MOST_THREADS))
    queues: Weights = setting((("default", 1),), queue_weights)
    fetch: str = setting("reliable", one_of("reliable", "basic"))
    fetch_idle_max_interval: float = setting(1.0, duration(least=SHORTEST))
    orphan_threshold: float = setting(300.0, duration(least=SHORTEST))
    max_orphanings: int = setting(3, integer())
    shutdown_timeout: float = setting(25.0, duration(zero=True))
    unique_lock_ttl: float = setting(DAY, duration())
    dead_max_jobs: int = setting(100_000, integer())
    dead_max_age: float = setting(180 * DAY, duration())
    max_payload_bytes: int = setting(1_048_576, integer(1, LARGEST_STRING))
    client_middleware: tuple[Middleware, ...] = setting((), listing(_middleware))
    server_middleware: tuple[Middleware, ...] = setting((), listing(_middleware))
    death_handlers: tuple[str, ...] = setting((), listing(dotted_path))
    periodic: tuple[object, ...] = setting((), listing(_declared))
    periodic_catch_up: bool = setting(True, boolean)
    status: StatusConfig | None = setting(StatusConfig(), optional(section(StatusConfig)))
    history: HistoryConfig | None = setting(HistoryConfig(), optional(section(HistoryConfig)))
    imports: tuple[str, ...] = setting((), listing(dotted_path))
    sensitive: tuple[str, ...] = setting(
        ("password", "passwd", "secret", "token", "api_key", "authorization", "cookie"), listing(text)
    )
    web: WebConfig = setting(WebConfig(), section(WebConfig))

    @property
    def beat_interval(self) -> float:
        """Seconds between two beats: three fit into the time after which a process counts as dead."""
        return min(5.0, self.orphan_threshold / 3)

    @property
    def presence_ttl(self) -> float:
        """Seconds for which what a process publishes about itself lasts without a new beat."""
        return min(60.0, self.orphan_threshold)

    @property
    def recovery_interval(self) -> float:
        """Seconds between two looks for dead processes."""
        return min(60.0, self.orphan_threshold)

    @classmethod
    def parse(
        cls,
        settings: object,
        environ: Mapping[str, str],
        cache: Callable[[str, str], RedisTarget] | None = None,
    ) -> Config:
        """Read what stands in the project's `COGWORKER`.

        Args:
            settings: the dict.
            environ: the process's environment, for `REDIS_URL`.
            cache: resolves `{"CACHE": alias}`, called with the alias and its place in the settings.

        Raises:
            ConfigurationError: with every fault, each naming its key.
        """
        problems = Problems()
        clean = read_fields(cls, settings, PLACE, problems, more=("REDIS",))
        with problems:
            clean["redis"] = _redis(settings, environ, cache)
        with problems:
            _check_together(clean)
        problems.check()
        return cls(**clean)


def _redis(
    settings: object, environ: Mapping[str, str], cache: Callable[[str, str], RedisTarget] | None
) -> RedisTarget:
    if isinstance(settings, Mapping) and "REDIS" in settings:
        return read_target(settings["REDIS"], f'{PLACE}["REDIS"]', cache=cache)
    return RedisTarget(url=checked_url(environ.get(URL_VARIABLE) or DEFAULT_URL, URL_VARIABLE))


def _check_together(clean: Mapping[str, object]) -> None:
    """Refuse what is right by itself and wrong together."""
    redis = cast("RedisTarget | None", clean.get("redis"))
    prefix = str(clean.get("prefix", "cogworker:"))
    if redis is not None and redis.cluster and not HASH_TAG.match(prefix):
        raise ConfigurationError(
            [
                f'{PLACE}["PREFIX"]: a Cluster needs a hash tag in the prefix, such as "{{cogworker}}:", '
                "so that all keys lie in one slot."
            ]
        )
