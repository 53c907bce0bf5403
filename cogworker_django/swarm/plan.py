"""What a swarm shall be."""

from __future__ import annotations

from dataclasses import dataclass

from cogworker_django.process.commands import STOP


@dataclass(frozen=True, kw_only=True)
class SwarmPlan:
    """What a swarm shall be."""

    processes: int
    drain_time: float
    """Seconds that a process has for its jobs when it stops."""
    phased: bool = False
    """Whether USR2 restarts one process after the other."""
    hangup: str = STOP
    """What a HUP asks for."""
    tag: str = ""
    """The operator's text."""
