"""Inputs in every place where jobs can be, a worker among them, and what must become of each."""

from __future__ import annotations

import json
import logging
import math
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
import redis

from cogworker_django.api.jobsets import DeadSet
from cogworker_django.core.errors import UnreadablePayload
from cogworker_django.core.names import check_queue
from cogworker_django.core.payload import RAW_LIMIT, UNREADABLE_CLASS
from cogworker_django.definition import job
from tests.scenarios.waiting import eventually
from tests.stores import raw_job
from tests.worker.rigs import Rig, Rigs

GONE = "gone:1:abcdef"
DEEPEST = 500
DIGITS = 4300
NEIGHBOURS = 100
SECONDS = 12.0  # a batch is done long before the first of what it makes wait for a retry would run again
PLACES = ("queue", "schedule", "retry", "dead", "in progress", "unsettled", "record")


def parsed(raw: bytes) -> dict[str, Any] | None:
    """What strict JSON makes of an input; None when that is no object, or holds what could not be written again."""
    try:
        value = json.loads(raw.decode(), parse_constant=_refused, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _can_be_stored(value) else None


def _refused(constant: str) -> None:
    raise ValueError(constant)


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(digits)
    return int(digits)


def _can_be_stored(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        texts = [key for one in level if isinstance(one, dict) for key in one]
        items = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        texts += [item for item in items if isinstance(item, str)]
        if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
            return False
        if not all(math.isfinite(item) for item in items if isinstance(item, float)):
            return False
        level = [item for item in items if isinstance(item, list | dict)]
    return not level


def is_job(value: dict[str, Any] | None) -> bool:
    """Whether an object has what every job has (Reference 3)."""
    if value is None or not all(isinstance(value.get(name), str) and value[name] for name in ("class", "jid", "queue")):
        return False
    return isinstance(value.get("args"), list) and isinstance(value.get("kwargs", {}), dict)


def routable(value: dict[str, Any] | None) -> str | None:
    """The queue that an entry of a set goes to when it is due; None when it cannot go anywhere."""
    try:
        return None if value is None else check_queue(value.get("queue"))
    except (TypeError, ValueError):
        return None


def essence(text: str) -> str:
    """An input as it can be found again in dead: what came by way of a set has been stamped on its way."""
    value = parsed(text.encode())
    if value is None:
        return text[:RAW_LIMIT]
    return json.dumps({name: each for name, each in value.items() if name != "enqueued_at"}, sort_keys=True)


class Trial:
    """One worker, and inputs around it.

    Args:
        rigs: builds the worker.
        client: to its server.
    """

    def __init__(self, rigs: Rigs, client: redis.Redis) -> None:
        self.seen: list[Any] = []
        self.client = client
        self.runs = 0
        """Inputs that are jobs, and are run."""
        self.elsewhere = 0
        """Inputs that are put on a queue that this worker does not read."""
        self.buried: Counter[str] = Counter()
        self.stays: Counter[bytes] = Counter()
        """Inputs that were dead and cannot be retried by hand."""
        self.aside: list[bytes] = []
        self._define()
        self.rig: Rig = rigs(concurrency=4, orphan_threshold=0.3, dead_max_jobs=1_000_000)
        self._token = 0

    def _define(self) -> None:
        def note(value: Any = None) -> None:
            self.seen.append(value)

        def fail(*_args: Any, **_kwargs: Any) -> None:
            raise ValueError("it was bound to fail")

        for function in (note, fail):
            function.__qualname__ = function.__name__
            job(name=function.__name__)(function)

    def put(self, place: str, raws: Sequence[bytes]) -> None:
        """Puts inputs into a place, and works out what must become of them."""
        pipe = self.client.pipeline(transaction=False)
        for raw in raws:
            getattr(self, "_" + place.replace(" ", "_"))(pipe, raw)
        pipe.execute()

    def neighbours(self) -> None:
        """Sound jobs among the inputs."""
        for number in range(NEIGHBOURS):
            raw = raw_job(f"sound{number}", **{"class": "note"}, args=[f"sound{number}"])
            self.put(("queue", "schedule", "retry", "in progress", "unsettled")[number % 5], [raw])

    def go(self, caplog: pytest.LogCaptureFixture, seconds: float = SECONDS) -> None:
        """Lets a worker deal with all of it, within so many seconds, and looks at what has become of it."""
        caplog.clear()
        self._retry_by_hand()
        self.client.hset("t:beats", GONE, "1.0 0 1")
        self.rig.start()
        threads = _threads()
        ends = self.runs + self.buried.total()
        eventually(lambda: sum(self.rig.counts()) >= ends and self._at_rest(), seconds, f"{ends} ends", self._state)
        assert _threads() == threads
        assert all(processor.thread.is_alive() for processor in self.rig.worker.processors)
        escaped = [record for record in caplog.records if record.exc_info or record.levelno > logging.ERROR]
        assert not escaped, escaped
        self._check()
        self.rig.stop()

    def _check(self) -> None:
        sound = Counter(value for value in self.seen if isinstance(value, str) and value.startswith("sound"))
        assert sound == Counter(f"sound{number}" for number in range(NEIGHBOURS))
        buried: Counter[str] = Counter()
        stays: Counter[bytes] = Counter()
        failures = len(self.rig.raw("retry"))
        for raw in self.rig.raw("dead"):
            entry = parsed(raw) or {}
            if raw in self.stays:
                stays[raw] += 1
            elif entry.get("class") == UNREADABLE_CLASS and entry.get("error_message"):
                buried[essence(entry["raw_payload"])] += 1
            else:
                failures += 1
        assert buried == self.buried
        assert stays == self.stays
        processed, failed = self.rig.counts()
        assert (processed + failures, failed) == (self.runs, failures + buried.total())
        assert self.client.lrange("t:quarantine:unsettled:records", 0, -1) == self.aside[-1_000:]
        queues = [key for key in self.client.scan_iter("t:queue:*") if key != b"t:queue:default"]
        assert sum(self.client.llen(key) for key in queues) == self.elsewhere
        assert not self.client.exists(f"t:inprogress:{GONE}", "t:schedule", "t:unsettled", "t:queue:default")

    def _at_rest(self) -> bool:
        return self.rig.settled() and not self.client.exists("t:unsettled", "t:schedule", f"t:inprogress:{GONE}")

    def _state(self) -> str:
        sizes = {key: self.client.type(key) for key in sorted(self.client.scan_iter("t:*"))}
        return f"{self.rig.counts()}, held {self.rig.held()}, {sizes}"

    def _retry_by_hand(self) -> None:
        for entry in list(DeadSet(self.rig.store)):
            try:
                assert entry.retry()
            except UnreadablePayload:
                assert entry.value in self.stays

    def _fetched(self, raw: bytes) -> None:
        """It reaches a processor."""
        if is_job(parsed(raw)):
            self.runs += 1
        else:
            self.buried[essence(raw.decode(errors="replace"))] += 1

    def _due(self, raw: bytes) -> None:
        """It is looked at by whoever moves it from its set to its queue."""
        queue = routable(parsed(raw))
        if queue == "default":
            self._fetched(raw)
        elif queue is None:
            self.buried[essence(raw.decode(errors="replace"))] += 1
        else:
            self.elsewhere += 1

    def _queue(self, pipe: Any, raw: bytes) -> None:
        pipe.lpush("t:queue:default", raw)
        self._fetched(raw)

    def _in_progress(self, pipe: Any, raw: bytes) -> None:
        self._token += 1
        pipe.hset(f"t:inprogress:{GONE}", f"{self._token}:default", raw)
        self._fetched(raw)

    def _schedule(self, pipe: Any, raw: bytes) -> None:
        pipe.zadd("t:schedule", {raw: 0})
        self._due(raw)

    def _retry(self, pipe: Any, raw: bytes) -> None:
        pipe.zadd("t:retry", {raw: 0})
        self._due(raw)

    def _dead(self, pipe: Any, raw: bytes) -> None:
        pipe.zadd("t:dead", {raw: self.client.time()[0]})
        if routable(parsed(raw)) is None:
            self.stays[raw] += 1
        else:
            self._due(raw)

    def _unsettled(self, pipe: Any, raw: bytes) -> None:
        """In a record of a failure that another process could not file; bytes that are no text cannot be in one."""
        text = "\r\n\t\n" + raw.decode(
            errors="replace"
        )  # so that it is not the same entry as the one put there directly
        record = json.dumps({"set": "retry", "score": 0, "payload": text})
        pipe.rpush("t:unsettled", record)
        self._due(text.encode())

    def _record(self, pipe: Any, raw: bytes) -> None:
        """In the place of such a record."""
        value = parsed(raw)
        assert value is None or value.get("set") not in ("schedule", "retry", "dead"), "a record that can be used"
        pipe.rpush("t:unsettled", raw)
        self.aside.append(raw)


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def batches(raws: Sequence[bytes], number: int) -> Iterable[Sequence[bytes]]:
    """Parts of so many inputs."""
    return (raws[first : first + number] for first in range(0, len(raws), number))
