"""What happens in each scenario: what is there at the start, and what the acting process does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cogworker_django import CogworkerError, DeadSet, Queue, RetrySet, runtime
from cogworker_django.core.unique import digest_of
from tests.scenarios import jobs
from tests.scenarios.crash.world import World

GONE = "gone:1:abcdef"
"""A process that died long ago."""
SOON, LATER = 1.0, 4_000_000_000.0
"""Due times: past, and beyond the life of a test."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A scenario."""

    name: str
    prepare: Callable[[World], None]
    act: Callable[[World], None] | None = None
    """What a client does; None for a worker, which works until nothing is left to do."""
    aftermath: Callable[[World], None] = lambda _world: None
    """What a person does afterwards who finds the work half done."""
    stop_early: bool = False
    """A worker is told to stop while its job still runs."""
    may_vanish: bool = False
    """Whether jobs that are in no place any more were deleted or dropped as they should."""


def accepted(world: World, *pushed: str | None) -> None:
    """Notes pushes that were confirmed, for the process that looks on."""
    with (world.gate.parent / "accepted").open("a", encoding="ascii") as file:
        file.writelines(f"{jid}\n" for jid in pushed if jid)


def _naps(world: World) -> None:
    world.queue(*(world.raw("nap", 0.001) for _ in range(3)))


def _failures(world: World) -> None:
    world.queue(*(world.raw("fail_after", 0.0, retry=5) for _ in range(2)))


def _deaths(world: World) -> None:
    world.queue(*(world.raw("fail_after", 0.0, retry=0) for _ in range(2)))


def _last_failures(world: World) -> None:
    world.queue(*(world.raw("fail_after", 0.0, retry=2, retry_count=2, failed_at=1.0) for _ in range(2)))


def _discards(world: World) -> None:
    world.queue(*(world.raw("drop") for _ in range(2)))


def _unreadable(world: World) -> None:
    world.queue(b'{"jid":"no job"}', world.raw("nap", 0.001))
    world.buried = 1


def _scheduled(world: World) -> None:
    entries: dict[Any, float] = {world.raw("nap", 0.001): SOON + n for n in range(3)}
    world.redis.zadd(world.key("schedule"), entries)


def _damaged_schedule(world: World) -> None:
    entries: dict[Any, float] = {b'{"jid":"no job"}': SOON, world.raw("nap", 0.001): SOON + 1}
    world.redis.zadd(world.key("schedule"), entries)
    world.buried = 1


def _retries(world: World) -> None:
    entries: dict[Any, float] = {world.raw("nap", 0.001, retry_count=1, failed_at=1.0): SOON + n for n in range(2)}
    world.redis.zadd(world.key("retry"), entries)


def _orphans(world: World) -> None:
    raws: dict[Any, Any] = {f"{number}:default": world.raw("nap", 0.001) for number in range(1, 4)}
    world.redis.hset(world.key(f"inprogress:{GONE}"), mapping=raws)
    world.redis.hset(world.key("beats"), GONE, "1.0 2 2")


def _killers(world: World) -> None:
    _orphans(world)
    for jid in world.accepted[:2]:
        world.redis.set(world.key(f"orphanings:{jid}"), 3, ex=1000)
    world.buried = 2


def _handed_over(world: World) -> None:
    for where in ("retry", "dead"):
        entry = world.raw("fail_after", 0.0, retry_count=1, failed_at=1.0, error_class="E", error_message="no")
        record = {"set": where, "score": LATER if where == "retry" else time.time(), "payload": entry.decode()}
        world.redis.rpush(world.key("unsettled"), json.dumps(record))


def _damaged_keys(world: World) -> None:
    world.redis.set(world.key("retry"), "no set")
    world.redis.rpush(world.key("stats:failed"), "no number")
    _naps(world)


PRIORITIES = (0, 100, -100)


def _prioritised(priority: int) -> dict[str, Any]:
    """The field of a job that has a priority."""
    return {"django_task": {"priority": priority}}


def _priorities(world: World) -> None:
    world.queue(*(world.raw("nap", 0.001, **_prioritised(priority)) for priority in PRIORITIES))
    entry: Any = world.raw("nap", 0.001, retry_count=1, failed_at=1.0, **_prioritised(1))
    world.redis.zadd(world.key("retry"), {entry: SOON})


def _prioritised_orphans(world: World) -> None:
    lanes = ("default|2", "default", "default|-2")
    raws: dict[Any, Any] = {
        f"{number}:{lane}": world.raw("nap", 0.001, **_prioritised(priority))
        for number, (lane, priority) in enumerate(zip(lanes, (100, 0, -100), strict=True), start=1)
    }
    world.redis.hset(world.key(f"inprogress:{GONE}"), mapping=raws)
    world.redis.hset(world.key("beats"), GONE, "1.0 2 2")


def _push_prioritised(world: World) -> None:
    client = runtime.current().client
    for priority in PRIORITIES:
        accepted(world, client.dispatch(client.prepare({"class": "nap", "args": [0.001]}, _prioritised(priority))))


def _long_jobs(world: World) -> None:
    world.queue(*(world.raw("wait_for", str(world.gate)) for _ in range(2)), world.raw("nap", 0.001))


def _unique(world: World, name: str, *args: Any, **fields: Any) -> bytes:
    """A unique job that holds its lock."""
    raw = world.raw(name, *args, unique="until_executed", **fields)
    payload = json.loads(raw)
    payload["unique_digest"] = digest_of(payload)
    world.redis.set(world.key(f"unique:{payload['unique_digest']}"), payload["jid"], ex=1000)
    return json.dumps(payload).encode()


def _unique_jobs(world: World) -> None:
    world.queue(_unique(world, "nap", 0.001), _unique(world, "nap", 0.002))


def _unique_failures(world: World) -> None:
    world.queue(_unique(world, "fail_after", 0.0, retry=5), _unique(world, "fail_after", 0.001, retry=0))


def _unique_orphans(world: World) -> None:
    raws: dict[Any, Any] = {f"{number}:default": _unique(world, "nap", number / 1000) for number in range(1, 4)}
    world.redis.hset(world.key(f"inprogress:{GONE}"), mapping=raws)
    world.redis.hset(world.key("beats"), GONE, "1.0 2 2")
    world.redis.set(world.key(f"orphanings:{world.accepted[0]}"), 3, ex=1000)
    world.buried = 1


def _push_unique(world: World) -> None:
    alone = jobs.nap.set(unique="until_executed")
    accepted(world, alone.perform_async(0.001), *alone.perform_bulk([(0.001,), (0.002,), (0.002,)]))
    accepted(world, alone.perform_in(0.05, 0.001), alone.perform_in(0.05, 0.003))


def _delete_unique(_world: World) -> None:
    Queue("default").clear()


def _periodic(world: World) -> None:
    alone = {"name": "alone", "unique": "until_executed", "args": [0.002]}
    entry = {"cron": "0 0 1 1 *", "job": "nap", "args": [0.001]}
    world.schedule(entry, entry | alone)


def _nothing(_world: World) -> None:
    """An empty installation."""


def _dead_jobs(world: World) -> None:
    entries: dict[Any, float] = {
        world.raw("nap", 0.001, failed_at=1.0, error_class="E", error_message="no"): time.time() - n for n in range(3)
    }
    world.redis.zadd(world.key("dead"), entries)


def _waiting_retries(world: World) -> None:
    entries: dict[Any, float] = {world.raw("nap", 0.001, retry_count=1, failed_at=1.0): LATER + n for n in range(3)}
    world.redis.zadd(world.key("retry"), entries)


def _first(world: World) -> str:
    return world.accepted[0]


def _push(world: World) -> None:
    for _ in range(3):
        accepted(world, jobs.nap.perform_async(0.001))


def _push_bulk(world: World) -> None:
    accepted(world, *jobs.swallow.perform_bulk([("x",)] * 2_500))


def _push_later(world: World) -> None:
    for _ in range(3):
        accepted(world, jobs.nap.perform_in(0.05, 0.001))


def _retry_dead(world: World) -> None:
    entry = DeadSet().find(_first(world))
    assert entry is not None
    entry.retry()
    DeadSet().retry_all()


def _kill_retry(world: World) -> None:
    entry = RetrySet().find(_first(world))
    assert entry is not None
    entry.kill()
    RetrySet().kill_all()


def _delete(world: World) -> None:
    entry = DeadSet().find(_first(world))
    assert entry is not None
    entry.delete()
    DeadSet().clear()


def _reschedule(world: World) -> None:
    entry = RetrySet().find(_first(world))
    assert entry is not None
    entry.reschedule(SOON)


def _clear(_world: World) -> None:
    Queue("default").clear()


def _pause(_world: World) -> None:
    Queue("default").pause()
    Queue("default").resume()


def _resume(world: World) -> None:
    world.redis.delete(world.key("paused_queues"))


SCENES = (
    Scene(name="success", prepare=_naps),
    Scene(name="failure to retry", prepare=_failures),
    Scene(name="no retries to dead", prepare=_deaths),
    Scene(name="last retry to dead", prepare=_last_failures),
    Scene(name="discarded by its hook", prepare=_discards, may_vanish=True),
    Scene(name="unreadable job", prepare=_unreadable),
    Scene(name="scheduled jobs due", prepare=_scheduled),
    Scene(name="damaged entry due", prepare=_damaged_schedule),
    Scene(name="retries due", prepare=_retries),
    Scene(name="recovery of a dead process", prepare=_orphans),
    Scene(name="burial of repeat orphans", prepare=_killers),
    Scene(name="filing what was handed over", prepare=_handed_over),
    Scene(name="damaged keys", prepare=_damaged_keys),
    Scene(name="stop with running jobs", prepare=_long_jobs, stop_early=True),
    Scene(name="unique jobs", prepare=_unique_jobs),
    Scene(name="unique jobs that fail", prepare=_unique_failures),
    Scene(name="unique jobs of a dead process", prepare=_unique_orphans),
    Scene(name="periodic entries due", prepare=_periodic),
    Scene(name="jobs with priorities", prepare=_priorities),
    Scene(name="priorities of a dead process", prepare=_prioritised_orphans),
    Scene(name="push", prepare=_nothing, act=_push),
    Scene(name="push with priorities", prepare=_nothing, act=_push_prioritised),
    Scene(name="unique push", prepare=_nothing, act=_push_unique),
    Scene(name="bulk push", prepare=_nothing, act=_push_bulk),
    Scene(name="scheduled push", prepare=_nothing, act=_push_later),
    Scene(name="dead jobs retried by hand", prepare=_dead_jobs, act=_retry_dead),
    Scene(name="retries killed by hand", prepare=_waiting_retries, act=_kill_retry),
    Scene(name="dead jobs deleted", prepare=_dead_jobs, act=_delete, may_vanish=True),
    Scene(name="retry rescheduled", prepare=_waiting_retries, act=_reschedule),
    Scene(name="queue cleared", prepare=_naps, act=_clear, may_vanish=True),
    Scene(name="unique jobs cleared", prepare=_unique_jobs, act=_delete_unique, may_vanish=True),
    Scene(name="lanes cleared", prepare=_priorities, act=_clear, may_vanish=True),
    Scene(name="queue paused and resumed", prepare=_naps, act=_pause, aftermath=_resume),
)


def acting(scene: Scene, world: World, strike: Callable[[], None]) -> Callable[[], None]:
    """What the acting process of a client does, `strike` first; an error that it is told is no fault."""
    act = scene.act
    assert act is not None

    def run() -> None:
        runtime.current()
        strike()
        try:
            act(world)
        except CogworkerError as error:
            print(f"told: {error}")

    return run
