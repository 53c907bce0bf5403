"""All orders in which the commands of several actors can arrive at Redis, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cogworker_django.store.store import Store

PATIENCE = 20.0
"""Seconds until an actor that neither sends a command nor ends counts as stuck."""


@dataclass(kw_only=True)
class Actor:
    """Somebody with a connection of its own, who does one thing."""

    store: Store
    does: Callable[[Store], Any]
    result: Any = None
    error: BaseException | None = None
    waits: bool = False
    ended: bool = False


@dataclass
class Conductor:
    """Lets one actor at a time send one command, in the order of a plan.

    Args:
        plan: for each command which of those who want to send one may; the first of them once the plan is over.
        actors: the threads that it conducts.
    """

    plan: Sequence[int]
    actors: Sequence[Actor]
    widths: list[int] = field(default_factory=list)
    """For each command how many wanted to send one."""
    order: list[int] = field(default_factory=list)
    """Who sent each command."""

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._turn: Actor | None = None

    def run(self) -> None:
        """Runs all actors to their end; raises what one of them has raised."""
        threads = [threading.Thread(target=self._act, args=(actor,), daemon=True) for actor in self.actors]
        for thread in threads:
            thread.start()
        with self._changed:
            while waiting := self._waiting():
                at = len(self.widths)
                self.widths.append(len(waiting))
                actor = waiting[self.plan[at] if at < len(self.plan) else 0]
                self.order.append(list(self.actors).index(actor))
                actor.waits, self._turn = False, actor
                self._changed.notify_all()
        for thread in threads:
            thread.join()
        for actor in self.actors:
            if actor.error is not None:
                raise actor.error

    def _waiting(self) -> list[Actor]:
        """Those who want to send a command, once everybody has come so far or has ended."""
        assert self._changed.wait_for(lambda: all(a.waits or a.ended for a in self.actors), PATIENCE), "one is stuck"
        return [actor for actor in self.actors if actor.waits]

    def _act(self, actor: Actor) -> None:
        gateway = actor.store.gateway
        plain = {name: getattr(gateway, name) for name in ("call", "run", "pipeline")}
        for name, function in plain.items():
            setattr(gateway, name, self._in_turn(actor, function))
        try:
            actor.result = actor.does(actor.store)
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            actor.error = error
        finally:
            for name in plain:
                delattr(gateway, name)
            with self._changed:
                actor.ended = True
                self._changed.notify_all()

    def _in_turn(self, actor: Actor, function: Callable[..., Any]) -> Callable[..., Any]:
        def send(*args: Any, **options: Any) -> Any:
            with self._changed:
                actor.waits = True
                self._changed.notify_all()
                assert self._changed.wait_for(lambda: self._turn is actor, PATIENCE), "its turn never came"
                self._turn = None
            return function(*args, **options)

        return send


def interleavings(
    stores: Sequence[Store], actions: Sequence[Callable[[Store], Any]], depth: int, prepare: Callable[[], None]
) -> Iterator[Conductor]:
    """Run the actions once for each order of their first commands.

    Args:
        stores: one for each action, with a connection of its own.
        actions: what the actors do.
        depth: how many commands are put into every order; those after them come in one order.
        prepare: puts the server into its state before each run.
    """
    plan: list[int] = []
    while True:
        prepare()
        actors = [Actor(store=store, does=action) for store, action in zip(stores, actions, strict=False)]
        conductor = Conductor(plan, actors)
        conductor.run()
        yield conductor
        chosen = [*plan, *[0] * (len(conductor.widths) - len(plan))][:depth]
        while chosen and chosen[-1] + 1 >= conductor.widths[len(chosen) - 1]:
            chosen.pop()
        if not chosen:
            return
        chosen[-1] += 1
        plan = chosen
