"""The loop of a swarm's parent: it starts processes, listens to them, buries and replaces them, and stops them all
(reference, section 27).
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import time
from collections.abc import Callable

from cogworker_django.process import commands as told
from cogworker_django.process import logs, title
from cogworker_django.process.board import Board
from cogworker_django.process.commands import Commands
from cogworker_django.process.condition import Condition
from cogworker_django.process.door import Door
from cogworker_django.process.link import Full, Leaving, Link, Message, Quiet, Refused, Table
from cogworker_django.process.service import Service
from cogworker_django.swarm.ear import Ear
from cogworker_django.swarm.fork import fork
from cogworker_django.swarm.plan import SwarmPlan
from cogworker_django.swarm.reaper import described, ended
from cogworker_django.swarm.rollout import Rollout
from cogworker_django.swarm.slot import Child, Slot, State

logger = logging.getLogger("cogworker")

LOOK = 1.0
"""Seconds between two rounds at most."""
MARGIN = 10.0
"""Seconds above the drain time after which a process that does not leave is killed: more than its worst clean stop."""
NO_PROCESS = 1.0
"""Seconds until the next try when the system gives no further process."""


class Supervisor:
    """Keeps so many processes alive.

    Args:
        plan: what it shall be.
        commands: what it is told to do; it listens to signals already.
        body: what a child runs, given its link, its commands, its slot, and whether it shall be quiet.
        board: told how the children are.
        door: where others ask for it; None when nowhere.
        service: the service manager.
        prepare: called before each fork, closes whatever must not be shared.
    """

    def __init__(
        self,
        plan: SwarmPlan,
        commands: Commands,
        body: Callable[[Link, Commands, int, bool], int],
        board: Board,
        door: Door | None,
        service: Service,
        *,
        prepare: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._body = body
        self._board = board
        self._door = door
        self._service = service
        self._prepare = prepare
        self._patience = plan.drain_time + MARGIN
        self._slots = [Slot(number) for number in range(plan.processes)]
        self._rollout = Rollout(self._slots, self._patience)
        self._commands = commands
        self._selector = selectors.PollSelector()
        self._ear = Ear()
        self._table = Table(os.getpid(), [])
        self._stopping = False
        self._ever_beaten = False
        self.problem = ""
        """Why no process can start; the swarm has ended because of it."""
        self._killed = 0

    def run(self) -> int:
        """Work until it is told to stop, or no slot is left.

        Returns:
            The exit status: 0 after a clean end, 1 when a process had to be killed or none can start.
        """
        self._ear.open(self._selector)
        if self._door:
            self._door.open(self._selector)
        try:
            self._loop()
        finally:
            self._commands.ignore()
            self._ear.close()
            if self._door:
                self._door.close()
        logger.info("swarm: stopped")
        return 1 if self._killed or self.problem else 0

    def _loop(self) -> None:
        while True:
            self._obey_all()
            self._bury()
            self._start_due()
            self._rollout.step()
            self._kill_late()
            self._tell()
            if not self._children and (self._stopping or all(slot.over for slot in self._slots)):
                return
            self._wait()

    @property
    def _children(self) -> list[tuple[Slot, Child]]:
        return [(slot, slot.child) for slot in self._slots if slot.child is not None]

    def _wait(self) -> None:
        moments = [slot.due for slot in self._slots if slot.due is not None]
        moments += [child.kill_at for _, child in self._children if child.kill_at is not None]
        until = min([LOOK, self._service.interval or LOOK, *(moment - time.monotonic() for moment in moments)])
        for key, _ in self._selector.select(max(0.0, until)):
            key.data()
        if self._door:
            self._door.show_out()

    def _listen(self, slot: Slot, child: Child) -> None:
        for message in child.link.hear():
            self._note(slot, child, message)
        if child.link.broken:
            self._hang_up(child)

    def _hang_up(self, child: Child) -> None:
        self._selector.unregister(child.link)
        child.link.close()

    def _note(self, slot: Slot, child: Child, message: Message) -> None:
        if isinstance(message, Condition):
            child.condition = message
            self._ever_beaten = self._ever_beaten or child.has_beaten
            self._board.post(slot.number, message)
        elif isinstance(message, Quiet):
            slot.quiet = message.quiet
        elif isinstance(message, Full):
            if not self._stopping and self._rollout.add(slot):
                logger.info("swarm: process %d of slot %d is replaced: %s", child.pid, slot.number, message.limit)
        elif isinstance(message, Leaving):
            child.leaves_as = State(message.reason)
        elif isinstance(message, Refused):
            child.problem = message.problem

    def _obey_all(self) -> None:
        while (command := self._commands.get()) is not None:
            self._obey(command)

    def _obey(self, command: str) -> None:
        if command in (told.STOP, told.STOP_NOW):
            if not self._stopping:
                self._stop()
            elif command == told.STOP_NOW:
                self._relay(signal.SIGINT)
        elif command == told.QUIET:
            for slot in self._slots:
                slot.quiet = True
            self._relay(signal.SIGTSTP)
        elif command == told.DUMP:
            self._relay(signal.SIGTTIN)
        elif command == told.REOPEN:
            logs.reopen()
            self._relay(signal.SIGHUP)
        elif command == told.RESTART:
            self._restart()

    def _relay(self, number: signal.Signals) -> None:
        for _, child in self._children:
            child.signal(number)

    def _restart(self) -> None:
        if self._stopping:
            return
        logger.info("swarm: restarting %s%s", self._counted, self._plan.phased * ", one at a time")
        for slot, child in self._children:
            if self._plan.phased:
                self._rollout.add(slot)
            else:
                child.stop(self._patience)

    def _stop(self) -> None:
        self._stopping = self._board.stopping = True
        self._service.stopping()
        self._rollout.clear()
        logger.info("swarm: stopping %s, with %g s for running jobs", self._counted, self._plan.drain_time)
        for slot in self._slots:
            slot.due = None
            if slot.child is not None:
                # One that was told to leave before keeps the time that it was given.
                slot.child.stop(self._patience)

    @property
    def _counted(self) -> str:
        number = len(self._children)
        return "1 process" if number == 1 else f"{number} processes"

    def _start_due(self) -> None:
        now = time.monotonic()
        for slot in self._slots:
            due = slot.due is not None and slot.due <= now and not self._stopping
            if due and not self._start(slot):
                # The others would be refused too, and each would say so.
                return

    def _start(self, slot: Slot) -> bool:
        self._prepare()
        number, quiet = slot.number, slot.quiet
        try:
            pid, link = fork(
                lambda link, commands: self._body(link, commands, number, quiet), self._plan.hangup, self._let_go
            )
        except OSError as error:
            logger.error("swarm: the system gives no process for slot %d: %s", number, error)
            self._postpone(time.monotonic() + NO_PROCESS)
            return False
        child = Child(pid, link)
        slot.filled(child)
        self._selector.register(link, selectors.EVENT_READ, lambda: self._listen(slot, child))
        # Silent from now on: one that does not even begin is found out too.
        self._board.post(number, Condition(pid=pid))
        logger.info("swarm: started process %d in slot %d", pid, number)
        return True

    def _postpone(self, until: float) -> None:
        for slot in self._slots:
            if slot.due is not None:
                slot.due = max(slot.due, until)

    def _let_go(self) -> None:
        """In a child: nothing of the parent's stays open, so that the parent's end is heard by all others."""
        for _, child in self._children:
            child.link.close()
        if self._door:
            self._door.close()
        self._ear.close()

    def _bury(self) -> None:
        statuses = ended(child.pid for _, child in self._children)
        for slot, child in self._children:
            if child.pid in statuses:
                self._hear_out(slot, child)
                self._board.drop(slot.number)
                self._ended(slot, child, statuses[child.pid])

    def _hear_out(self, slot: Slot, child: Child) -> None:
        """Take its last words; the other end may still be held by a process that a job has forked."""
        if not child.link.broken:
            self._listen(slot, child)
        if not child.link.broken:
            self._hang_up(child)

    def _ended(self, slot: Slot, child: Child, status: int) -> None:
        if self._stopping:
            slot.finish(State.STOPPING)
        elif child.leaves_as is not None:
            logger.info("swarm: slot %d is %s", slot.number, child.leaves_as)
            slot.finish(child.leaves_as)
        elif child.problem and not self._ever_beaten:
            self.problem = child.problem
            slot.finish(State.STOPPING)
            self._stop()
        elif child.told_to_leave:
            slot.emptied(expected=True)
        else:
            self._rollout.died(slot, child)
            delay = slot.emptied(expected=False)
            logger.warning(
                "swarm: process %d of slot %d has ended unexpectedly, %s; the next one comes in %g s",
                *(child.pid, slot.number, described(status), delay),
            )

    def _kill_late(self) -> None:
        now = time.monotonic()
        for slot, child in self._children:
            if child.kill_at is not None and child.kill_at <= now:
                logger.error("swarm: process %d of slot %d does not leave and is killed", child.pid, slot.number)
                child.kill()
                self._killed += self._stopping

    def _tell(self) -> None:
        if not self._stopping and all(slot.is_up for slot in self._slots):
            self._service.ready()
        if not self._board.stuck:
            self._service.alive()
        table = Table(os.getpid(), [slot.row() for slot in self._slots])
        if table != self._table:
            self._table = table
            up = sum(slot.state == State.RUNNING for slot in self._slots)
            title.show(f"{up} of {len(self._slots)} processes{self._stopping * ', stopping'}", self._plan.tag)
        for _, child in self._children:
            child.show(self._table)
