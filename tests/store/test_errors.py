from __future__ import annotations

import pytest
import redis
import redis.exceptions

from cogworker_django.core.errors import RedisDenied, RedisRefused, RedisUnavailable
from cogworker_django.store.errors import reply_is_away, translated, translation
from cogworker_django.store.jobsets import SetName
from cogworker_django.store.store import Store
from tests.stores import open_store
from tests.support import StartServer

WRAPPED = "Error running script (call to f_ab): @user_script:3: -READONLY You can't write against a read only replica."


@pytest.mark.parametrize(
    "error",
    [
        redis.exceptions.ConnectionError("refused"),
        redis.exceptions.TimeoutError("slow"),
        redis.exceptions.BusyLoadingError("loading"),
        redis.exceptions.RedisClusterException("Redis Cluster cannot be connected."),
        redis.exceptions.ReadOnlyError("You can't write against a read only replica."),
        redis.exceptions.MasterDownError("Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
        redis.exceptions.ClusterDownError("The cluster is down"),
        redis.exceptions.TryAgainError("Multiple keys request during rehashing of slot"),
        redis.exceptions.ResponseError("LOADING Redis is loading the dataset in memory"),
        redis.exceptions.ResponseError("MASTERDOWN Link with MASTER is down"),
        redis.exceptions.ResponseError("TRYAGAIN Multiple keys request during rehashing of slot"),
        redis.exceptions.ResponseError("BUSY Redis is busy running a script."),
        redis.exceptions.ResponseError("CLUSTERDOWN The cluster is down"),
        redis.exceptions.ResponseError("UNBLOCKED force unblock from blocking operation"),
        redis.exceptions.ResponseError(WRAPPED),
        ConnectionResetError("reset by peer"),
        OSError("no route to host"),
    ],
    ids=repr,
)
def test_what_may_work_later_counts_as_unavailable(error: Exception) -> None:
    """Reference O1."""
    assert isinstance(translation(error), RedisUnavailable)


@pytest.mark.parametrize(
    "error",
    [
        redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
        redis.exceptions.ResponseError("OOM command not allowed when used memory > 'maxmemory'."),
        redis.exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
        redis.exceptions.ResponseError("BUSYKEY Target key name already exists."),
        redis.exceptions.ResponseError("BUSYGROUP Consumer Group name already exists"),
        redis.exceptions.ResponseError("ERR the word READONLY alone means nothing"),
        redis.exceptions.AuthenticationError("WRONGPASS invalid username-password pair or user is disabled."),
        redis.exceptions.NoPermissionError("this user has no permissions to run the 'info' command"),
        redis.exceptions.DataError("Invalid input of type"),
    ],
    ids=repr,
)
def test_what_will_not_work_by_waiting_counts_as_refused(error: Exception) -> None:
    """Reference O1: only the whole first word counts, and OOM and WRONGTYPE are not "unavailable"."""
    assert isinstance(translation(error), RedisRefused)


@pytest.mark.parametrize(
    ("text", "away"),
    [
        ("READONLY You can't write against a read only replica.", True),
        ("-LOADING Redis is loading", True),
        ("WRONGTYPE Operation against a key", False),
        ("", False),
    ],
)
def test_a_reply_that_a_script_collected_is_read_by_the_same_rule(text: str, away: bool) -> None:
    assert reply_is_away(text) is away


def test_an_error_without_text_is_named_by_its_class() -> None:
    assert str(translation(redis.exceptions.TimeoutError())) == "Redis is not available: TimeoutError: "


def test_other_errors_than_those_of_redis_go_through_unchanged() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError("ours")


def test_the_translated_error_keeps_its_cause() -> None:
    cause = redis.exceptions.ResponseError("WRONGTYPE no")
    with pytest.raises(RedisRefused) as caught, translated():
        raise cause
    assert caught.value.__cause__ is cause


def test_a_replica_that_takes_no_writes_is_unavailable_to_commands_and_scripts(start_server: StartServer) -> None:
    """After a failover the old master answers READONLY until the client finds the new one."""
    master = start_server()
    replica = open_store(start_server("--replicaof", f"127.0.0.1 {master.port}").url)
    with pytest.raises(RedisUnavailable):
        replica.gateway.call("SET", "t:x", "1")
    with pytest.raises(RedisUnavailable):
        replica.gateway.run("push", ("t:queue:a", "t:bell:a", "t:queues"), ("a", "t:", 60, 60, 1, b"job"))
    replica.client.close()


def test_a_replica_whose_master_is_gone_is_unavailable_to_commands_and_scripts(start_server: StartServer) -> None:
    """It answers MASTERDOWN, a word that redis-py keeps to itself."""
    master = start_server()
    flags = ("--replicaof", f"127.0.0.1 {master.port}", "--replica-serve-stale-data", "no")
    replica = open_store(start_server(*flags).url)
    master.kill()
    with pytest.raises(RedisUnavailable):
        replica.gateway.call("GET", "t:x")
    with pytest.raises(RedisUnavailable):
        replica.gateway.run("push", ("t:queue:a", "t:bell:a", "t:queues"), ("a", "t:", 60, 60, 1, b"job"))
    replica.client.close()


def test_a_wrong_type_is_refused_by_commands_and_scripts(store: Store, redis_client: redis.Redis) -> None:
    redis_client.set("t:queue:a", "no list")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.gateway.call("LPUSH", "t:queue:a", "1")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.gateway.run("push", ("t:queue:a", "t:bell:a", "t:queues"), ("a", "t:", 60, 60, 1, b"job"))


def test_a_server_that_is_not_there_is_unavailable(start_server: StartServer) -> None:
    server = start_server()
    store = open_store(server.url)
    server.kill()
    with pytest.raises(RedisUnavailable, match="not available"):
        store.gateway.call("PING")


def test_a_wrong_password_is_no_outage(start_server: StartServer) -> None:
    """Case B142: waiting would not help, so it must not look like an outage."""
    server = start_server()
    admin = redis.Redis.from_url(server.url)
    admin.config_set("requirepass", "right")
    store = open_store(server.url.replace("redis://", "redis://:wrong@"))
    with pytest.raises(RedisRefused):
        store.gateway.call("PING")
    store.client.close()
    admin.close()


def test_a_user_that_may_not_run_a_command_of_a_script_is_denied(start_server: StartServer) -> None:
    """Reference E8; ours follows the server's clock only, and says at once that it may not read it."""
    server = start_server()
    admin = redis.Redis.from_url(server.url)
    admin.execute_command("ACL", "SETUSER", "w", "on", ">pw", "~*", "&*", "+@all", "-time")
    store = open_store(server.url.replace("redis://", "redis://w:pw@"))
    with pytest.raises(RedisDenied, match="run"):
        store.jobsets.reschedule(SetName.RETRY, b"x", delay=5.0)
    with pytest.raises(RedisDenied, match="run"):
        store.processes.beat("host:1:a", progress="0 1", info=b"{}", read_commands=False)
    store.client.close()
    admin.close()
