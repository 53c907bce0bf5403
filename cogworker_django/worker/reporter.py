"""Tells those around a process how it is: the parent of its swarm, the service manager, `ps`, who asks for health."""

from __future__ import annotations

import logging
import os
import time
from typing import Any, Literal

import msgspec

from cogworker_django.process import title
from cogworker_django.process.board import Board
from cogworker_django.process.commands import STOP, Commands
from cogworker_django.process.condition import Condition, Phase
from cogworker_django.process.link import Full, Leaving, Link, Message, Quiet, Table
from cogworker_django.process.service import Service
from cogworker_django.worker.checkup import condition_of
from cogworker_django.worker.limits import Limits
from cogworker_django.worker.worker import Worker

logger = logging.getLogger("cogworker")

EVERY = 1.0
"""Seconds between two reports."""


class Reporter:
    """Reports for the main thread of one process, whenever that passes by.

    Args:
        commands: told to stop when the parent is gone.
        service: the service manager.
        board: told how the process is; None in a swarm's child, whose parent keeps the board.
        link: to the parent; None when there is none.
        slot: the number of the process in its swarm.
        tag: the operator's text.
    """

    def __init__(
        self,
        commands: Commands,
        service: Service,
        board: Board | None = None,
        link: Link | None = None,
        slot: int = 0,
        tag: str = "",
    ) -> None:
        self._commands = commands
        self._service = service
        self._board = board
        self._link = link
        self._slot = slot
        self._tag = tag
        self._next = 0.0
        self._title = ""
        self._table: Table | None = None
        self._is_orphan = False

    def swarm(self) -> dict[str, Any]:
        """Tell the others of an installation about the swarm of this process; nothing when it is none's."""
        if self._table is None:
            return {}
        slots = [msgspec.structs.asdict(row) for row in self._table.slots]
        return {"swarm": {"parent": self._table.parent, "slot": self._slot, "slots": slots}}

    def tell(self, phase: Phase, worker: Worker | None, limits: Limits | None = None, *, now: bool = False) -> None:
        """Report, once a second at most.

        Args:
            phase: where the process stands.
            worker: what works in it; None before there is one.
            limits: at which it is to be replaced.
            now: whether this cannot wait.
        """
        if time.monotonic() < self._next and not now:
            return
        self._next = time.monotonic() + EVERY
        condition = Condition(pid=os.getpid(), phase=phase) if worker is None else condition_of(worker, phase)
        if self._link is not None:
            self._talk(self._link, condition, limits)
        if self._board is not None:
            self._board.post(self._slot, condition)
            self._board.stopping = phase == Phase.STOPPING
        if not condition.stuck:
            self._service.alive()
        self._show(condition)

    def ready(self) -> None:
        """The process works."""
        self._service.ready()

    def stopping(self) -> None:
        """It has begun to stop."""
        self._service.stopping()

    def quiet(self, quiet: bool) -> None:
        """It was told to fetch no more, or to fetch again."""
        self._say(Quiet(quiet))

    def leaving(self, reason: Literal["retired", "drained"]) -> None:
        """It leaves for good: `retired` or `drained`."""
        self._say(Leaving(reason))

    def _say(self, message: Message) -> None:
        if self._link is not None:
            self._link.say(message)

    def _talk(self, link: Link, condition: Condition, limits: Limits | None) -> None:
        for message in link.hear():
            if isinstance(message, Table):
                self._table = message
        if link.broken and not self._is_orphan:
            self._is_orphan = True
            logger.warning("the parent of this process is gone")
            self._commands.put(STOP)
        link.offer(condition)
        limit = limits.told(condition.rss_kb) if limits else ""
        if limit:
            link.say(Full(limit))

    def _show(self, condition: Condition) -> None:
        text = title.of(condition)
        if text != self._title:
            self._title = text
            title.show(text, self._tag)
