"""Something done with all jobs that match, in steps, each of them short (Engine 2: no call over a whole set).

An operation goes through a set in its order and remembers where it is. It leaves alone what came into the set after it
was begun, and whatever cannot be moved; it can be stopped between two steps and ends by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from cogworker_django.api.browse import SETS, Mode, Place, Record, Spot, State, turn
from cogworker_django.api.door import opened
from cogworker_django.core import times
from cogworker_django.core.identity import new_jid
from cogworker_django.store.jobsets import GONE, HELD, MOVED
from cogworker_django.store.store import Store

__all__ = ["ACTIONS", "Operation", "begin", "load", "step", "stop"]

ACTIONS = ("retry", "kill", "delete")
STEP_SECONDS = 0.5
AT_ONCE = 500  # jobs that one call handles
TOLD = 20  # refusals that are kept
NO_JOB = "0" * 12
Fits = Callable[[Record], bool]


@dataclass(kw_only=True, slots=True)
class Operation:
    """One of them, as it was last written."""

    id: str
    action: str
    state: str
    queue: str = ""
    text: str = ""
    """What jobs must contain, as the reader who began it sees them."""
    by: str = ""
    began_at: float = 0.0
    size: int = 0
    """Of the set at the beginning."""
    done: int = 0
    gone: int = 0
    stayed: int = 0
    looked: int = 0
    refusals: list[str] = field(default_factory=list)
    status: str = "running"
    """Then `done` or `stopped`."""
    place: int = 0
    score: float | None = None
    mark: str = ""

    @property
    def running(self) -> bool:
        """Whether there is more to do."""
        return self.status == "running"


def begin(action: str, state: State, *, queue: str, text: str, by: str, store: Store | None = None) -> Operation:
    """Begin an operation; nothing is done yet.

    Args:
        action: one of `ACTIONS`.
        state: of a set.
        queue: only jobs of this queue; empty for all.
        text: only jobs that contain it; empty for all.
        by: who begins it.
        store: where; by default the current runtime's.

    Raises:
        ValueError: there is no such action, or none for such jobs.
    """
    if action not in ACTIONS or state not in SETS or (action == "kill" and state is State.DEAD):
        raise ValueError(f"{action!r} cannot be done with all jobs that are {state}")
    store = opened(store)
    made = Operation(
        id=new_jid(),
        action=action,
        state=state,
        queue=queue,
        text=text,
        by=by,
        began_at=store.jobsets.now(),
        size=store.jobsets.size(SETS[state]),
    )
    if state is State.DEAD:
        # The newest come first: what dies from now on lies before this.
        made.score, made.mark = made.began_at, NO_JOB
    store.operations.write(made.id, asdict(made))
    return made


def load(name: str, store: Store | None = None) -> Operation | None:
    """Return an operation; None when it is not remembered any more."""
    record = opened(store).operations.read(name)
    try:
        return msgspec.convert(record, Operation) if record else None
    except msgspec.ValidationError:
        return None


def stop(operation: Operation, store: Store | None = None) -> Operation:
    """Let it do nothing more; what is done stays done."""
    stopped = replace(operation, status="stopped") if operation.running else operation
    opened(store).operations.write(operation.id, asdict(stopped))
    return stopped


def step(name: str, fits: Fits, store: Store | None = None) -> Operation | None:
    """Do the next part, for half a second.

    Args:
        name: of the operation.
        fits: whether a job is meant.
        store: where; by default the current runtime's.

    Returns:
        How it stands; as it is while another step is at it, None when it is not remembered.
    """
    store = opened(store)
    if not store.operations.take(name):
        return load(name, store)
    try:
        operation = load(name, store)
        deadline = time.monotonic() + STEP_SECONDS
        while operation is not None and operation.running and time.monotonic() < deadline:
            _part(operation, fits, store)
            told = load(name, store)
            if told is not None and told.status == "stopped":
                operation.status = "stopped"
            store.operations.write(name, asdict(operation))
        return operation
    finally:
        store.operations.give_back(name)


def _part(operation: Operation, fits: Fits, store: Store) -> None:
    """One page of the set."""
    spot = Spot(place=operation.place, score=operation.score or 0.0, mark=operation.mark)
    leaf = turn(Place(state=State(operation.state), spot=spot), Mode.AFTER, AT_ONCE, store)
    wanted = [job.value for _place, job in leaf.jobs if _was_there(job, operation) and fits(job)]
    left = _act(operation, wanted, store) if wanted else 0
    operation.looked += len(leaf.jobs)
    if leaf.more is None or not leaf.jobs:
        operation.status = "done"
        return
    # The next page goes on behind the score of the last job; what has left the set has moved all behind it forward.
    last = leaf.jobs[-1][0].spot
    operation.place, operation.score, operation.mark = last.place + 1 - left, last.score, NO_JOB


def _was_there(job: Record, operation: Operation) -> bool:
    """Whether a job was in the set when the operation began."""
    if operation.queue and job.queue != operation.queue:
        return False
    name = "failed_at" if operation.state == State.RETRYING else "created_at"
    since = times.told(job.item.get(name))
    return operation.state == State.DEAD or since is None or since <= operation.began_at + 1.0


def _act(operation: Operation, members: list[bytes], store: Store) -> int:
    """Do it with some; return how many have left the set."""
    name = SETS[State(operation.state)]
    if operation.action == "delete":
        done = store.jobsets.remove(name, members)
        operation.done, operation.gone = operation.done + done, operation.gone + len(members) - done
        return done
    move: Any = store.graduation.requeue if operation.action == "retry" else store.jobsets.kill
    outcomes: list[str] = move(name, members)
    done, gone = outcomes.count(MOVED), outcomes.count(GONE)
    operation.done, operation.gone = operation.done + done, operation.gone + gone
    operation.stayed += len(outcomes) - done - gone
    for outcome in outcomes:
        if outcome not in (MOVED, GONE) and len(operation.refusals) < TOLD:
            operation.refusals.append(outcome if outcome.startswith(HELD) else outcome[:200])
    return done
