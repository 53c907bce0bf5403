"""Where Redis is: the forms of `COGWORKER["REDIS"]` and what is printed of them (Contract 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from cogworker_django.core.settings import Problems, boolean, fault, integer, listing, text, unknown_keys
from cogworker_django.core.text import described

DEFAULT_URL = "redis://localhost:6379/0"
SCHEMES = ("redis", "rediss", "unix")
DEFAULT_PORT = 6379
DEFAULT_SENTINEL_PORT = 26379
HIGHEST_PORT = 65_535

# What may be handed to the client besides the address. Pool, retries and timeouts are ours (Contract 3), and
# whatever would change the replies is the store's.
CLIENT_OPTIONS = (
    *("username", "password", "client_name", "credential_provider", "protocol"),
    *("socket_keepalive", "socket_keepalive_options", "ssl_keyfile", "ssl_certfile", "ssl_password"),
    *("ssl_cert_reqs", "ssl_ca_certs", "ssl_ca_path", "ssl_ca_data", "ssl_check_hostname"),
    *("ssl_include_verify_flags", "ssl_exclude_verify_flags", "ssl_min_version", "ssl_ciphers"),
    *("ssl_validate_ocsp", "ssl_validate_ocsp_stapled", "ssl_ocsp_context", "ssl_ocsp_expected_cert"),
    "sentinel_kwargs",
)
OURS = (
    *("connection_pool", "max_connections", "decode_responses", "encoding", "health_check_interval"),
    *("retry", "retry_on_error", "retry_on_timeout", "socket_connect_timeout", "socket_timeout", "timeout"),
)


@dataclass(frozen=True, kw_only=True)
class RedisTarget:
    """One server, or a group of servers behind Sentinel or in a Cluster.

    Exactly one form holds: `sentinels` with `service`; `url` (a Cluster's first node when `cluster`); else
    `host` and `port`. `db` and `password` belong to the forms without a URL. Nothing secret is in its `repr`.
    """

    url: str | None = field(default=None, repr=False)
    host: str = "localhost"
    port: int = DEFAULT_PORT
    db: int = 0
    password: str | None = field(default=None, repr=False)
    sentinels: tuple[tuple[str, int], ...] = ()
    service: str | None = None
    cluster: bool = False
    options: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Keyword arguments for the client, in its own spelling: TLS, user name, client name."""

    @property
    def safe(self) -> str:
        """The address as it may be logged and shown: without user, password and options."""
        if self.sentinels:
            hosts = ", ".join(f"{host}:{port}" for host, port in self.sentinels)
            return f"{self.service}/{self.db} by Sentinel at {hosts}"
        if self.url is None:
            return f"redis://{_bracketed(self.host)}:{self.port}/{self.db}"
        shown_url = _safe_url(urlsplit(self.url))
        return f"{shown_url} (Cluster)" if self.cluster else shown_url


def read_target(value: object, place: str, *, cache: Callable[[str, str], RedisTarget] | None = None) -> RedisTarget:
    """Read the address in any of its forms.

    Args:
        value: a URL or a dict.
        place: where it stands, for the messages.
        cache: resolves the alias of a cache (alias, place); only the Django edge can.

    Raises:
        ConfigurationError: naming every fault. No message repeats a URL or a password.
    """
    if isinstance(value, str):
        return RedisTarget(url=checked_url(value, place))
    if not isinstance(value, Mapping):
        raise fault(place, f"must be a URL or a dict, not a value of type {type(value).__name__}.")
    forms = {"CACHE": _from_cache, "SENTINELS": _from_sentinels, "CLUSTER": _from_cluster, "URL": _from_url}
    for key, read in forms.items():
        if key in value:
            return read(value, place) if key != "CACHE" else _from_cache(value, place, cache)
    return _from_host(value, place)


def checked_url(url: str, place: str) -> str:
    """Return the URL if a client can connect to it; the message of a fault never repeats it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise fault(
            place, "the URL cannot be read; special characters in its password must be percent-encoded."
        ) from None
    if parts.scheme not in SCHEMES:
        raise fault(place, "the URL must begin with redis://, rediss:// or unix://.")
    if parts.scheme == "unix":
        if len(parts.path) < 2:
            raise fault(place, "the URL names no socket; write unix:///path/to/redis.sock.")
    elif port == 0:
        raise fault(place, f"the port must be from 1 to {HIGHEST_PORT}.")
    elif parts.path.strip("/") and not parts.path.strip("/").isdecimal():
        raise fault(place, "what follows the host must be the number of a database, such as /0.")
    _check_query(parse_qs(parts.query, keep_blank_values=True), place)
    return url


def _check_query(query: Mapping[str, list[str]], place: str) -> None:
    # The client lets what stands in a URL override what it is given beside it: ours would be lost.
    for key in query:
        if key in OURS:
            raise fault(place, f"{key} in the URL: the pool, retries, timeouts and replies are cogworker's own.")
        if key != "db" and key not in CLIENT_OPTIONS:
            raise fault(place, f"the URL has an unknown option {described(key)}.")
    if not all(number.isdecimal() for number in query.get("db", [])):
        raise fault(place, "the database in ?db= must be a number.")


def _from_cache(
    value: Mapping[str, object], place: str, cache: Callable[[str, str], RedisTarget] | None = None
) -> RedisTarget:
    problems = _strangers(value, place, ("CACHE",))
    with problems:
        alias = text(value["CACHE"], f'{place}["CACHE"]')
        if cache is None:
            raise fault(f'{place}["CACHE"]', "caches are known inside a Django project only.")
        target = cache(alias, f'{place}["CACHE"]')
    problems.check()
    return target


def _from_url(value: Mapping[str, object], place: str) -> RedisTarget:
    problems = _strangers(value, place, ("URL", "CLUSTER"), clients=True)
    with problems:
        url = checked_url(text(value["URL"], f'{place}["URL"]'), f'{place}["URL"]')
        options = _options(value)
        if urlsplit(url).password and "password" in options:
            problems.add(f'{place}["PASSWORD"]', "the URL holds a password already; leave one of them out.")
    problems.check()
    return RedisTarget(url=url, options=options)


def _from_cluster(value: Mapping[str, object], place: str) -> RedisTarget:
    if value["CLUSTER"] is False:
        rest = {key: item for key, item in value.items() if key != "CLUSTER"}
        return read_target(rest, place)
    if value["CLUSTER"] is not True:
        raise fault(f'{place}["CLUSTER"]', f"must be True or False, not {described(value['CLUSTER'])}.")
    if "URL" not in value:
        raise fault(f'{place}["URL"]', "a Cluster needs the URL of one of its nodes.")
    target = _from_url(value, place)
    parts = urlsplit(str(target.url))
    if parts.scheme == "unix" or parts.path.strip("/") not in ("", "0"):
        raise fault(f'{place}["URL"]', "a Cluster is reached over TCP and has only database 0.")
    return RedisTarget(url=target.url, cluster=True, options=target.options)


def _from_sentinels(value: Mapping[str, object], place: str) -> RedisTarget:
    problems = _strangers(value, place, ("SENTINELS", "SERVICE", "DB", "PASSWORD", "SSL"), clients=True)
    sentinels: tuple[tuple[str, int], ...] = ()
    service = ""
    with problems:
        sentinels = listing(_sentinel)(value["SENTINELS"], f'{place}["SENTINELS"]')
        if not sentinels:
            problems.add(f'{place}["SENTINELS"]', "must name at least one Sentinel.")
    with problems:
        service = text(value.get("SERVICE"), f'{place}["SERVICE"]')
    db, password = _db(value, place, problems), _password(value, place, problems)
    options = _options(value, "password") | ({"ssl": True} if _ssl(value, place, problems) else {})
    problems.check()
    return RedisTarget(sentinels=sentinels, service=service, db=db, password=password, options=options)


def _sentinel(value: object, place: str) -> tuple[str, int]:
    if isinstance(value, str):
        host, _, port = value.rpartition(":")
        value = (host, int(port)) if host and port.isdecimal() else (value, DEFAULT_SENTINEL_PORT)
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise fault(place, f"must be a pair of host and port, not {described(value)}.")
    return text(value[0], f"{place}[0]"), integer(1, HIGHEST_PORT)(value[1], f"{place}[1]")


def _from_host(value: Mapping[str, object], place: str) -> RedisTarget:
    problems = _strangers(value, place, ("HOST", "PORT", "DB", "PASSWORD", "SSL"), clients=True)
    host, port = "localhost", DEFAULT_PORT
    with problems:
        host = text(value.get("HOST", host), f'{place}["HOST"]')
    with problems:
        port = integer(1, HIGHEST_PORT)(value.get("PORT", port), f'{place}["PORT"]')
    db, password = _db(value, place, problems), _password(value, place, problems)
    ssl = _ssl(value, place, problems)
    problems.check()
    if ssl:  # only a URL tells the client's pool to speak TLS
        secure = f"rediss://{_bracketed(host)}:{port}/{db}"
        return RedisTarget(url=secure, options=_options(value))
    return RedisTarget(host=host, port=port, db=db, password=password, options=_options(value, "password"))


def _db(value: Mapping[str, object], place: str, problems: Problems) -> int:
    with problems:
        return integer(0)(value.get("DB", 0), f'{place}["DB"]')
    return 0


def _ssl(value: Mapping[str, object], place: str, problems: Problems) -> bool:
    with problems:
        return boolean(value.get("SSL", False), f'{place}["SSL"]')
    return False


def _password(value: Mapping[str, object], place: str, problems: Problems) -> str | None:
    password = value.get("PASSWORD")
    if password is None or isinstance(password, str):
        return password or None
    problems.add(f'{place}["PASSWORD"]', f"must be a string or None, not a {type(password).__name__}.")
    return None


def _options(value: Mapping[str, object], *without: str) -> dict[str, object]:
    """Return what goes to the client as it is. `None` says "not set" and is left out."""
    lowered = {str(key).lower(): item for key, item in value.items() if item is not None}
    return {key: item for key, item in lowered.items() if key in CLIENT_OPTIONS and key not in without}


def _strangers(value: Mapping[str, object], place: str, form: tuple[str, ...], *, clients: bool = False) -> Problems:
    """Collect the keys that do not belong to this form of the address."""
    problems = Problems()
    address = {"CACHE", "CLUSTER", "DB", "HOST", "PASSWORD", "PORT", "SENTINELS", "SERVICE", "SSL", "URL"}
    known = [*form, *(option.upper() for option in CLIENT_OPTIONS if clients)]
    for key in value:
        name = str(key).upper()
        if name.lower() in OURS:
            problems.add(f'{place}["{key}"]', "the pool, retries, timeouts and replies are cogworker's own.")
        elif key in address and key not in known:
            problems.add(f'{place}["{key}"]', f'does not go together with "{form[0]}".')
        elif key not in form and name not in known:
            problems.found.extend(unknown_keys([key], known, place))
    return problems


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _safe_url(parts: SplitResult) -> str:
    db = parse_qs(parts.query).get("db", [""])[0]
    if parts.scheme == "unix":
        return f"unix://{unquote(parts.path)}" + (f"?db={db}" if db else "")
    host, port = _bracketed(parts.hostname or "localhost"), parts.port or DEFAULT_PORT
    return f"{parts.scheme}://{host}:{port}/{db or parts.path.strip('/') or 0}"
