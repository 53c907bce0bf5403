"""The rules that every scenario must keep, as one pure function over what was pushed, what ran and what is left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from tests.scenarios.ledger import Run

SHOWN = 5  # examples named in a fault
# One look at every place in which a job can be: between two calls one could move and be seen twice, or never.
SNAPSHOT = """
local prefix, found = ARGV[1], {}
local function add(place, jobs)
  for _, job in ipairs(jobs) do found[#found + 1], found[#found + 2] = place, job end
end
for _, key in ipairs(redis.call('KEYS', prefix .. 'queue:*')) do add('queue', redis.call('LRANGE', key, 0, -1)) end
for _, key in ipairs(redis.call('KEYS', prefix .. 'inprogress:*')) do add('in progress', redis.call('HVALS', key)) end
for _, set in ipairs({'schedule', 'retry', 'dead'}) do add(set, redis.call('ZRANGE', prefix .. set, 0, -1)) end
for _, record in ipairs(redis.call('LRANGE', prefix .. 'unsettled', 0, -1)) do
  add('unsettled', {cjson.decode(record).payload})
end
return found
"""
OF_PROCESSES = ("inprogress:", "process:", "work:", "signals:")
OF_JOBS = ("orphanings:", "job_attempts:", "careful:", "unique:", "status:")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Where jobs were at one moment."""

    places: Mapping[str, Sequence[str]]
    """For each jid the places it was in."""

    @classmethod
    def take(cls, client: redis.Redis, prefix: str) -> Snapshot:
        """Look at all places in one script call."""
        found: Any = client.eval(SNAPSHOT, 0, prefix)
        places: dict[str, list[str]] = {}
        for place, raw in zip(found[::2], found[1::2], strict=True):
            places.setdefault(json.loads(raw)["jid"], []).append(place.decode())
        return cls(places=places)

    def at(self, place: str) -> set[str]:
        """The jobs in one place."""
        return {jid for jid, places in self.places.items() if place in places}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that is known once nothing moves any more."""

    accepted: Sequence[str]
    """Jids whose push was confirmed."""
    unknown: int = 0
    """How many pushes ended in an error: such a job may be there, or not, and nobody was told its jid."""
    runs: Sequence[Run]
    left: Snapshot
    at_risk: Mapping[str, int] = field(default_factory=dict)
    """For each jid how often it was in progress when its process died: so many extra runs are no fault."""
    spare: int = 0
    """Extra runs of whatever job that the faults of the scenario explain: lost replies."""
    processed: int
    failed: int
    dropped: Collection[str] = ()
    """Jids that may be in no place although they never finished: deleted by hand, or discarded by their hooks."""
    buried: int = 0
    """Jobs that count as failed without a run having failed: they killed their processes."""


def faults(evidence: Evidence, *, counted: bool = True) -> list[str]:
    """Name every broken rule; nothing when all is well.

    Args:
        evidence: all of it.
        counted: whether the counters are looked at too.
    """
    found = [*_lost(evidence), *_ghosts(evidence), *_extra(evidence), *_places(evidence)]
    return [*found, *_counters(evidence)] if counted else found


def _lost(evidence: Evidence) -> Iterable[str]:
    finished = {run.jid for run in evidence.runs if run.ended is not None and not run.failed}
    found = {*finished, *evidence.left.places, *evidence.dropped}
    lost = [jid for jid in evidence.accepted if jid not in found]
    if lost:
        yield f"{len(lost)} jobs were lost: {lost[:SHOWN]}"
    if len(set(evidence.accepted)) != len(evidence.accepted):
        yield "a jid was given twice"


def _ghosts(evidence: Evidence) -> Iterable[str]:
    ghosts = {run.jid for run in evidence.runs} - set(evidence.accepted)
    if len(ghosts) > evidence.unknown:
        yield f"{len(ghosts)} jobs ran that nobody pushed: {sorted(ghosts)[:SHOWN]}"


def extra_runs(runs: Iterable[Run]) -> Counter[str]:
    """For each jid how many runs there were beyond one an attempt."""
    attempts = Counter((run.jid, run.attempt) for run in runs)
    extra: Counter[str] = Counter()
    for (jid, _), times in attempts.items():
        if times > 1:
            extra[jid] += times - 1
    return extra


def _extra(evidence: Evidence) -> Iterable[str]:
    unexplained = {
        jid: times - evidence.at_risk.get(jid, 0)
        for jid, times in extra_runs(evidence.runs).items()
        if times > evidence.at_risk.get(jid, 0)
    }
    if sum(unexplained.values()) > evidence.spare:
        yield f"{sum(unexplained.values())} unexplained extra runs: {dict(list(unexplained.items())[:SHOWN])}"


def _places(evidence: Evidence) -> Iterable[str]:
    doubled = {jid: places for jid, places in evidence.left.places.items() if len(places) > 1}
    if doubled:
        yield f"{len(doubled)} jobs are in two places: {dict(list(doubled.items())[:SHOWN])}"
    finished = {run.jid for run in evidence.runs if run.ended is not None and not run.failed}
    again = [jid for jid in evidence.left.places if jid in finished]
    if again:
        yield f"{len(again)} jobs have finished and are still in Redis: {again[:SHOWN]}"


def _counters(evidence: Evidence) -> Iterable[str]:
    """Each job is settled once, whatever happened to it before: the fence of the delivery token sees to that."""
    finished = {run.jid for run in evidence.runs if run.ended is not None and not run.failed}
    gone = len(finished - evidence.left.places.keys())
    if evidence.processed != gone:
        yield f"processed is {evidence.processed}, and {gone} jobs have finished"
    failures = {(run.jid, run.attempt) for run in evidence.runs if run.failed}
    if evidence.failed != len(failures) + evidence.buried:
        yield f"failed is {evidence.failed}, and {len(failures)} runs have failed, {evidence.buried} jobs were buried"


def _is_held(client: redis.Redis, prefix: str, key: str) -> bool:
    """Whether the job that a lock belongs to still waits for its run."""
    holder: Any = client.get(f"{prefix}{key}")
    places = Snapshot.take(client, prefix).places.get((holder or b"").decode(), ())
    return bool(set(places) - {"dead"})


def litter(client: redis.Redis, prefix: str, *, living: int = 0) -> list[str]:
    """Name what dead processes have left behind, and keys of single jobs that would stay for ever.

    Args:
        client: to the server.
        prefix: of all keys.
        living: how many processes are still there.
    """
    found = []
    beats = client.hkeys(f"{prefix}beats")
    if len(beats) != living:
        found.append(f"{living} processes live, and these have beats: {beats!r}")
    for key in sorted(key.decode().removeprefix(prefix) for key in client.scan_iter(f"{prefix}*", 1000)):
        if key.startswith("inprogress:") or (not living and key.startswith(OF_PROCESSES)):
            found.append(f"{key} is left")
        if key.startswith("unique:") and not _is_held(client, prefix, key):
            found.append(f"{key} is the lock of a job that is gone")
        if key.startswith(OF_JOBS) and client.ttl(f"{prefix}{key}") == -1:
            found.append(f"{key} has no expiry")
    return found
