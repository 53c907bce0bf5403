"""Taking back the jobs of dead processes, on a real server and its clock."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis

from cogworker_django.core.errors import RedisRefused
from cogworker_django.store.recovery import Recovered, Recovery
from cogworker_django.store.store import Store
from tests.stores import TOUCHY_ARGS, jids, members, open_store, queued, raw_job, scored
from tests.support import StartServer
from tests.trips import Traveller

DEAD = "host:1:dead"
IN_PROGRESS = f"t:inprogress:{DEAD}"
AGO = 1_000.0  # seconds: longer than any threshold here


def jid(number: int) -> str:
    return f"{number:024}"


def leave(
    client: redis.Redis,
    jobs: int,
    *,
    queue: str = "default",
    first: int = 1,
    started: int | None = None,
    ago: float = AGO,
) -> list[bytes]:
    """What a process left behind: unsettled jobs, and a last beat some time ago. All had started unless told."""
    raws = [raw_job(jid(n), queue) for n in range(first, first + jobs)]
    if raws:
        client.hset(IN_PROGRESS, mapping={f"{n}:{queue}": raw for n, raw in enumerate(raws, start=first)})
    seconds, microseconds = client.time()
    stamp = seconds + microseconds / 1e6 - ago
    client.hset("t:beats", DEAD, f"{stamp:.6f} {first + jobs if started is None else started} 3")
    return raws


def left(client: redis.Redis) -> list[bytes]:
    tokens: Any = client.hkeys(IN_PROGRESS)
    return sorted(tokens)


def recovered(store: Store, identity: str = DEAD) -> Recovered:
    found = store.recovery.recover(identity)
    assert found is not None, "the process is taken for alive"
    return found


def count(client: redis.Redis, number: int) -> int:
    return int(client.get(f"t:orphanings:{jid(number)}") or 0)


def recovery_of(store: Store, *, threshold: float = 300.0, most: int = 3) -> Recovery:
    limits = {"dead_max_jobs": 100, "dead_max_age": 1000.0, "lock_ttl": 60.0}
    return Recovery(store.gateway, threshold=threshold, most=most, **limits)  # type: ignore[arg-type]  # of two types


# Who is dead


def test_a_dead_processes_jobs_go_back_and_the_next_to_run_is_the_first_fetched(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference R8, R33."""
    raws = leave(redis_client, 5)
    waiting = raw_job(jid(9))
    redis_client.lpush("t:queue:default", waiting)
    report = recovered(store)
    assert (report.moved, report.failed, report.condemned, report.queues) == (5, 0, [], {"default"})
    assert queued(redis_client)[::-1] == [*raws, waiting]
    assert not redis_client.exists(IN_PROGRESS)
    assert not redis_client.hexists("t:beats", DEAD)


@pytest.mark.parametrize("ago", [0.0, 299.0])
def test_a_process_that_has_beaten_within_the_threshold_keeps_its_jobs(
    ago: float, store: Store, redis_client: redis.Redis
) -> None:
    """Reference R32: even with its presence expired."""
    leave(redis_client, 2, ago=ago)
    assert store.recovery.recover(DEAD) is None
    assert len(left(redis_client)) == 2
    assert redis_client.hexists("t:beats", DEAD)


def test_the_threshold_is_the_configured_one(store: Store, redis_client: redis.Redis) -> None:
    """Reference R40."""
    leave(redis_client, 1, ago=20.0)
    assert recovery_of(store, threshold=30.0).recover(DEAD) is None
    assert recovery_of(store, threshold=10.0).recover(DEAD) is not None


@pytest.mark.parametrize("beat", ["yesterday", "", "nan"])
@pytest.mark.parametrize("present", [True, False])
def test_without_a_readable_stamp_presence_alone_decides(
    beat: str, present: bool, store: Store, redis_client: redis.Redis
) -> None:
    """Reference R29, R35."""
    leave(redis_client, 1)
    redis_client.hset("t:beats", DEAD, beat)
    if present:
        redis_client.set(f"t:process:{DEAD}", "{}")
    assert (store.recovery.recover(DEAD) is None) is present


@pytest.mark.parametrize(
    ("ago", "present", "lives"), [(-299.0, False, True), (-400.0, True, True), (-400.0, False, False)]
)
def test_of_a_stamp_that_lies_ahead_by_more_than_the_threshold_presence_decides(
    ago: float, present: bool, lives: bool, store: Store, redis_client: redis.Redis
) -> None:
    """The server's clock was set back after the last beat: its jobs do not wait until the clock has caught up."""
    leave(redis_client, 1, ago=ago)
    if present:
        redis_client.set(f"t:process:{DEAD}", "{}")
    assert (store.recovery.recover(DEAD) is None) is lives


@pytest.mark.parametrize("progress", ["9" * 5_000 + " 1", "1 " + "9" * 5_000, "x", ""])
def test_progress_that_cannot_be_read_keeps_nobodys_jobs(
    progress: str, store: Store, redis_client: redis.Redis
) -> None:
    leave(redis_client, 2)
    redis_client.hset("t:beats", DEAD, f"1.0 {progress}")
    assert recovered(store).moved == 2


@pytest.mark.parametrize("present", [True, False])
def test_with_a_damaged_registry_presence_alone_decides(present: bool, store: Store, redis_client: redis.Redis) -> None:
    """Reference S13: a key of the wrong type does not keep a dead process's jobs from coming back."""
    raws = leave(redis_client, 2)
    redis_client.delete("t:beats")
    redis_client.set("t:beats", "no hash")
    if present:
        redis_client.set(f"t:process:{DEAD}", "{}")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.recovery.registered()
    assert store.recovery.scan() == {DEAD}
    report = store.recovery.recover(DEAD)
    assert (report is None) is present
    assert queued(redis_client)[::-1] == ([] if present else raws)


def test_asking_about_a_live_process_does_not_forget_it(store: Store, redis_client: redis.Redis) -> None:
    """Reference R34: not even when it holds nothing."""
    leave(redis_client, 0, ago=0.0)
    assert store.recovery.recover(DEAD) is None
    assert store.recovery.registered() == {DEAD}


def test_a_dead_process_without_jobs_is_forgotten(store: Store, redis_client: redis.Redis) -> None:
    """Reference R30."""
    leave(redis_client, 0)
    assert recovered(store).moved == 0
    assert store.recovery.registered() == set()


def test_a_process_that_beats_between_two_looks_keeps_its_jobs(store: Store, redis_client: redis.Redis) -> None:
    """The decision falls inside the script: a beat cannot come between question and answer."""
    leave(redis_client, 1)
    store.processes.beat(DEAD, progress="1 3", info=b"{}", read_commands=False)
    assert store.recovery.recover(DEAD) is None


def test_candidates_are_the_registered_and_after_a_scan_also_those_with_a_hash_only(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference R30."""
    redis_client.hset("t:beats", "registered", "1")
    redis_client.hset("t:inprogress:a:1:x", "1:default", "job")
    redis_client.hset("other:inprogress:b", "1:default", "job")
    assert store.recovery.registered() == {"registered"}
    assert store.recovery.scan() == {"a:1:x"}


def test_a_name_that_is_no_text_is_passed_over(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 1)
    strange: Any = b"\xff\xfe:1:x"
    redis_client.hset("t:beats", strange, "1.0 1 1")
    redis_client.hset(b"t:inprogress:" + strange, "1:default", raw_job())
    assert store.recovery.registered() == {DEAD}
    assert store.recovery.scan() == {DEAD}


def test_a_field_that_is_no_token_does_not_keep_the_others(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 2)
    for field in (b"garbage", b"\xff", b"3:\xff", b"9" * 5000 + b":default"):
        strange: Any = field
        redis_client.hset(IN_PROGRESS, strange, raw_job())
    assert recovered(store).moved == 2


def test_a_scan_takes_a_prefix_with_pattern_letters_literally(redis_url: str, redis_client: redis.Redis) -> None:
    store = open_store(redis_url)
    store.gateway.keys.prefix = "t[x]*:"
    redis_client.hset("tx:inprogress:no", "1:default", "job")
    redis_client.hset("t[x]*:inprogress:yes", "1:default", "job")
    assert store.recovery.scan() == {"yes"}


# How jobs go back


def test_each_job_goes_to_the_queue_it_was_fetched_from_and_rings(store: Store, redis_client: redis.Redis) -> None:
    """Reference R8, R21: the queue is in the token, and it is listed again."""
    leave(redis_client, 2, queue="a")
    leave(redis_client, 1, queue="b:c", first=5)
    assert recovered(store).queues == {"a", "b:c"}
    assert jids(queued(redis_client, "a")) == [jid(2), jid(1)]
    assert jids(queued(redis_client, "b:c")) == [jid(5)]
    assert redis_client.smembers("t:queues") == {b"a", b"b:c"}
    assert (redis_client.llen("t:bell:a"), redis_client.llen("t:bell:b:c")) == (2, 1)


@pytest.mark.parametrize("raw", [b"not json", b"\x80\x04", b"[]", b"", b'{"jid":5}'])
def test_an_unreadable_job_goes_back_like_others(raw: bytes, store: Store, redis_client: redis.Redis) -> None:
    """Reference R9; ours keeps its queue, since the token knows it, and a processor buries it."""
    leave(redis_client, 1)
    redis_client.hset(IN_PROGRESS, "2:low", raw)
    assert recovered(store).moved == 2
    assert queued(redis_client, "low") == [raw]


def test_arguments_come_back_byte_for_byte(store: Store, redis_client: redis.Redis) -> None:
    """Case B060."""
    leave(redis_client, 0)
    raw = raw_job(args=TOUCHY_ARGS)
    redis_client.hset(IN_PROGRESS, "1:default", raw)
    recovered(store)
    assert queued(redis_client) == [raw]


def test_a_queue_of_the_wrong_type_keeps_its_jobs_and_holds_nobody_else_up(
    store: Store, redis_client: redis.Redis
) -> None:
    """Reference R17, R23, R24."""
    leave(redis_client, 2, queue="broken")
    leave(redis_client, 2, queue="sound", first=5)
    redis_client.set("t:queue:broken", "no list")
    report = recovered(store)
    assert (report.moved, report.failed, report.queues) == (2, 2, {"sound"})
    assert left(redis_client) == [b"1:broken", b"2:broken"]
    assert redis_client.hexists("t:beats", DEAD)
    redis_client.delete("t:queue:broken")
    assert recovered(store).moved == 2
    assert not redis_client.hexists("t:beats", DEAD)


def test_a_job_that_could_not_be_put_back_is_not_counted_as_orphaned(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 1)
    redis_client.set("t:queue:default", "no list")
    recovered(store)
    assert redis_client.keys("t:orphan*") == []


def test_a_full_server_gets_its_jobs_back(start_server: StartServer) -> None:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    leave(store.client, 3)
    store.client.config_set("maxmemory", 1)
    assert recovered(store).moved == 3
    assert count(store.client, 1) == 1
    store.client.close()


def test_twenty_thousand_jobs_come_back_in_order_and_no_call_is_long(store: Store, redis_client: redis.Redis) -> None:
    """Case B059. Measured again when a busy machine made the server itself wait."""
    redis_client.config_set("slowlog-log-slower-than", 100_000)
    try:
        long_calls = [_recover_twenty_thousand(store, redis_client)]
        while long_calls[-1] and len(long_calls) < 3:
            long_calls.append(_recover_twenty_thousand(store, redis_client))
    finally:
        redis_client.config_set("slowlog-log-slower-than", 10_000)
    assert 0 in long_calls


def _recover_twenty_thousand(store: Store, client: redis.Redis) -> int:
    """Takes that many jobs back; how many calls took over 100 ms."""
    client.flushall()
    raws = leave(client, 20_000)
    client.slowlog_reset()
    assert recovered(store).moved == 20_000
    long_calls = client.slowlog_len()
    assert queued(client)[::-1] == raws
    assert not client.exists(IN_PROGRESS)
    return int(long_calls)


# Counting orphanings


def test_only_what_can_have_been_running_counts_an_orphaning(store: Store, redis_client: redis.Redis) -> None:
    """Engine 1, "In progress": those started that are still there, and as many more as there are threads."""
    leave(redis_client, 10, started=2)
    recovered(store)
    assert [count(redis_client, n) for n in range(1, 11)] == [1] * 5 + [0] * 5


def test_what_was_settled_does_not_widen_the_count(store: Store, redis_client: redis.Redis) -> None:
    """Tokens with gaps: the next three that are still there, whatever their numbers."""
    leave(redis_client, 20, started=2)
    redis_client.hdel(IN_PROGRESS, *[f"{n}:default" for n in (1, 3, 4, 6, 7)])
    recovered(store)
    assert [n for n in range(1, 21) if count(redis_client, n)] == [2, 5, 8, 9]


def test_what_counts_is_the_same_when_it_takes_several_calls(store: Store, redis_client: redis.Redis) -> None:
    """The border between two calls of 1,000 falls into the three that may have started."""
    leave(redis_client, 1_004, started=2)
    recovered(store)
    assert [n for n in range(1, 1_005) if count(redis_client, n)] == [1, 2, 3, 4, 5]


def test_a_process_that_never_told_its_progress_counts_its_first_job_only(
    store: Store, redis_client: redis.Redis
) -> None:
    leave(redis_client, 3)
    redis_client.hset("t:beats", DEAD, "1.5")
    recovered(store)
    assert [count(redis_client, n) for n in (1, 2, 3)] == [1, 0, 0]


def test_counters_and_the_mark_that_they_exist_expire(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 1)
    recovered(store)
    assert 600_000 < redis_client.ttl(f"t:orphanings:{jid(1)}") <= 604_800
    assert 600_000 < redis_client.ttl("t:orphaned") <= 604_800


def test_recovered_jobs_are_marked_for_careful_fetching_for_a_day(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 4, queue="a")
    redis_client.set("t:careful:a", 2)
    recovered(store)
    assert redis_client.get("t:careful:a") == b"6"
    assert 86_000 < redis_client.ttl("t:careful:a") <= 86_400


def test_the_next_process_fetches_recovered_jobs_one_for_each_free_thread(
    store: Store, redis_client: redis.Redis
) -> None:
    leave(redis_client, 6)
    recovered(store)
    landing = Traveller(store).go(6, waiting=2)
    assert sum(len(raws) for _, raws in landing.jobs) == 2
    assert landing.orphaned


@pytest.mark.parametrize("value", ["no number", "3.5e", ""])
def test_a_damaged_counter_starts_anew_instead_of_switching_the_limit_off(
    value: str, store: Store, redis_client: redis.Redis
) -> None:
    """Reference R19."""
    leave(redis_client, 1)
    redis_client.set(f"t:orphanings:{jid(1)}", value)
    recovered(store)
    assert count(redis_client, 1) == 1


def test_a_counter_of_the_wrong_type_starts_anew_too(store: Store, redis_client: redis.Redis) -> None:
    """Reference R19, R25."""
    leave(redis_client, 1)
    redis_client.rpush(f"t:orphanings:{jid(1)}", "x")
    assert recovered(store).moved == 1
    assert count(redis_client, 1) == 1
    assert len(queued(redis_client)) == 1


def test_after_so_many_recoveries_the_next_death_condemns_the_job(store: Store, redis_client: redis.Redis) -> None:
    """Reference R36: recovered three times, the fourth death of its process is the last."""
    for death in range(3):
        leave(redis_client, 1)
        redis_client.delete("t:queue:default")
        assert recovered(store).condemned == [], death
    leave(redis_client, 2)
    redis_client.delete("t:queue:default")
    report = recovered(store)
    assert (report.moved, report.failed, report.condemned) == (1, 0, ["1:default"])
    assert left(redis_client) == [b"1:default"]
    assert store.recovery.condemned(DEAD, report.condemned) == [("1:default", raw_job(jid(1)))]
    assert jids(queued(redis_client)) == [jid(2)]
    assert (count(redis_client, 1), redis_client.hexists("t:beats", DEAD)) == (3, True)


def test_what_was_only_fetched_is_never_condemned(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 10, started=0)
    redis_client.set(f"t:orphanings:{jid(9)}", 99)
    assert recovered(store).condemned == []
    assert len(queued(redis_client)) == 10


# Burying


def condemn(client: redis.Redis, jobs: int) -> list[str]:
    """Jobs of a dead process that were orphaned too often; their tokens."""
    leave(client, jobs)
    for number in range(1, jobs + 1):
        client.set(f"t:orphanings:{jid(number)}", 3)
    return [f"{number}:default" for number in range(1, jobs + 1)]


def test_a_condemned_job_is_buried_once_counted_and_its_counter_goes(store: Store, redis_client: redis.Redis) -> None:
    """Reference R18, R20, R37, R54: with its error and in one step, so there is no list to be damaged in between."""
    [token] = condemn(redis_client, 1)
    before = store.jobsets.now()
    assert store.recovery.bury(DEAD, token, b"entry")
    assert not store.recovery.bury(DEAD, token, b"entry")
    [(entry, died)] = scored(redis_client, "dead")
    assert entry == b"entry"
    assert before <= died <= store.jobsets.now()
    assert redis_client.get("t:stats:failed") == b"1"
    [hour] = redis_client.keys("t:throughput:*")
    assert redis_client.hgetall(hour) == {b"failed": b"1"}
    assert redis_client.keys("t:orphanings:*") == []
    assert not redis_client.exists(IN_PROGRESS, "t:beats")


def test_a_process_that_beats_before_the_burial_keeps_its_job(store: Store, redis_client: redis.Redis) -> None:
    [token] = condemn(redis_client, 1)
    store.processes.beat(DEAD, progress="1 3", info=b"{}", read_commands=False)
    assert not store.recovery.bury(DEAD, token, b"entry")
    assert left(redis_client) == [token.encode()]
    assert not redis_client.exists("t:dead")


def test_the_last_burial_takes_the_process_off_and_not_before(store: Store, redis_client: redis.Redis) -> None:
    first, second = condemn(redis_client, 2)
    store.recovery.bury(DEAD, first, b"one")
    assert redis_client.hexists("t:beats", DEAD)
    store.recovery.bury(DEAD, second, b"two")
    assert not redis_client.hexists("t:beats", DEAD)


def test_jobs_that_are_gone_are_not_buried(store: Store, redis_client: redis.Redis) -> None:
    tokens = condemn(redis_client, 2)
    redis_client.hdel(IN_PROGRESS, tokens[0])
    assert [token for token, _ in store.recovery.condemned(DEAD, tokens)] == tokens[1:]


def test_more_condemned_jobs_than_one_call_reads_are_all_found(store: Store, redis_client: redis.Redis) -> None:
    tokens = condemn(redis_client, 1_001)
    assert [token for token, _ in store.recovery.condemned(DEAD, tokens)] == tokens


def test_an_unreadable_job_can_be_buried_too(store: Store, redis_client: redis.Redis) -> None:
    leave(redis_client, 0)
    redis_client.hset(IN_PROGRESS, "1:default", b"not json")
    assert store.recovery.bury(DEAD, "1:default", b"entry")
    assert members(redis_client, "dead") == [b"entry"]


def test_a_dead_set_of_the_wrong_type_leaves_the_job_where_it_is(store: Store, redis_client: redis.Redis) -> None:
    """Reference R55."""
    [token] = condemn(redis_client, 1)
    redis_client.set("t:dead", "no set")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.recovery.bury(DEAD, token, b"entry")
    assert left(redis_client) == [token.encode()]
    assert count(redis_client, 1) == 3


def test_damaged_counters_do_not_stop_a_burial(store: Store, redis_client: redis.Redis) -> None:
    """Reference R54."""
    [token] = condemn(redis_client, 1)
    redis_client.rpush("t:stats:failed", "no number")
    assert store.recovery.bury(DEAD, token, b"entry")
    assert members(redis_client, "dead") == [b"entry"]


def test_burials_keep_dead_within_its_limits(redis_url: str, redis_client: redis.Redis) -> None:
    """Case B111."""
    store = open_store(redis_url, dead_max_jobs=2)
    for number, token in enumerate(condemn(redis_client, 3), start=1):
        store.recovery.bury(DEAD, token, f"entry{number}".encode())
    assert members(redis_client, "dead") == [b"entry2", b"entry3"]


def test_a_full_server_lets_jobs_be_buried(start_server: StartServer) -> None:
    store = open_store(start_server("--maxmemory-policy", "noeviction").url)
    [token] = condemn(store.client, 1)
    store.client.config_set("maxmemory", 1)
    assert store.recovery.bury(DEAD, token, b"entry")
    store.client.close()


def test_two_buriers_at_once_bury_each_job_once_between_them(redis_url: str, redis_client: redis.Redis) -> None:
    """Reference R56: who buries it runs its hooks, and that is one of them."""
    tokens = condemn(redis_client, 200)
    stores = [open_store(redis_url) for _ in range(2)]
    buried: list[str] = []

    def bury(store: Store) -> None:
        buried.extend(token for token in tokens if store.recovery.bury(DEAD, token, token.encode()))

    threads = [threading.Thread(target=bury, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(buried) == sorted(tokens)
    assert redis_client.get("t:stats:failed") == b"200"


def test_commands_that_a_dead_process_has_not_read_go_with_it(store: Store, redis_client: redis.Redis) -> None:
    """They have no expiry where they are wake-ups of its own."""
    leave(redis_client, 1)
    redis_client.lpush(f"t:signals:{DEAD}", "wake")
    redis_client.set("t:queue:default", "no list")
    recovered(store)
    assert redis_client.exists(f"t:signals:{DEAD}")
    redis_client.delete("t:queue:default")
    recovered(store)
    assert not redis_client.exists(f"t:signals:{DEAD}", "t:beats")
