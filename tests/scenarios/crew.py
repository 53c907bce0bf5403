"""Several workers of which some die, and others take their places."""

from __future__ import annotations

from typing import Any

from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually


class Crew:
    """As many workers as were asked for: each that has ended is replaced, as a service manager does.

    Args:
        rig: to start them with.
        number: how many.
        flags: of each.
        settings: of each.
    """

    def __init__(self, rig: Rig, number: int, *flags: str, **settings: Any) -> None:
        self.deaths = 0
        """How many have ended by themselves."""
        self._rig = rig
        self._flags = flags
        self._settings = settings
        self._members = [self._another() for _ in range(number)]
        self.complete()

    def complete(self) -> None:
        """Wait until all of them have started, as who is told to stop before that has not learned how, and until the
        dead have left the list.
        """
        for member in self._members:
            member.started()
        beats = f"{PREFIX}beats"
        living = len(self._members)
        eventually(lambda: self._rig.redis.hlen(beats) == living, 30, "the dead to leave the list", self._rig.logs)

    def anyone(self) -> WorkerProcess:
        """One of them by chance, once it has started."""
        return self._rig.random.choice(self._members).started()

    def replace(self, member: WorkerProcess) -> None:
        """Another one for one that has ended; nobody waits until it has started."""
        self._members[self._members.index(member)] = self._another()

    def tend(self) -> None:
        """Replace whoever has ended. Each job that it had in hand may run once more; that is noted here, before the
        threshold is over and the others take the jobs back.
        """
        for member in [member for member in self._members if member.has_ended]:
            self.deaths += 1
            self._rig.at_risk.update(self._rig.in_progress(member))
            self.replace(member)

    def _another(self) -> WorkerProcess:
        return self._rig.worker(*self._flags, wait=False, **self._settings)
