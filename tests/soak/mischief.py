"""Everything that can happen to workers and to their server, chosen by chance."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from tests.scenarios.crew import Crew
from tests.scenarios.proxy import Proxy
from tests.scenarios.rig import Rig

SAFE = ("--appendfsync", "always")
"""So that a killed server itself has lost nothing."""


class Mischief:
    """Does one thing after the other, and notes which jobs may run once more because of it.

    Args:
        rig: its server and its chance.
        proxy: between the workers and the server.
        crew: the workers.
        threshold: seconds without a beat after which a process counts as dead.
    """

    def __init__(self, rig: Rig, proxy: Proxy, crew: Crew, threshold: float) -> None:
        self.done: Counter[str] = Counter()
        """How often each thing was done."""
        self.taken: list[tuple[float, set[str]]] = []
        """When a process was killed, or frozen for too long, on the monotonic clock, and what it had in hand."""
        self._rig = rig
        self._proxy = proxy
        self._crew = crew
        self._threshold = threshold
        self._ways: list[Callable[[], None]] = [
            self._kill,
            self._stop,
            self._freeze_shortly,
            self._freeze_for_too_long,
            self._take_server_away,
            self._freeze_server,
            self._cut,
            self._cut_replies,
            self._swallow,
            self._flush_scripts,
        ]

    def next(self) -> str:
        """Do one thing, to its end; its name."""
        way = self._rig.random.choice(self._ways)
        way()
        name = way.__name__.strip("_").replace("_", " ")
        self.done[name] += 1
        return name

    def _kill(self) -> None:
        victim = self._crew.anyone()
        in_hand = self._rig.kill(victim)
        self.taken.append((time.monotonic(), in_hand))
        self._crew.replace(victim)

    def _stop(self) -> None:
        victim = self._crew.anyone()
        self._rig.stop(victim)
        self._crew.replace(victim)

    def _freeze_shortly(self) -> None:
        victim = self._crew.anyone()
        victim.freeze()
        self._wait(self._threshold / 2)
        victim.thaw()

    def _freeze_for_too_long(self) -> None:
        """The others take its jobs, and it runs them to their ends when it comes back."""
        victim = self._crew.anyone()
        victim.freeze()
        in_hand = self._rig.in_progress(victim)
        self._rig.at_risk.update(in_hand)
        self.taken.append((time.monotonic(), in_hand))
        time.sleep(1.5 * self._threshold)
        victim.thaw()

    def _take_server_away(self) -> None:
        self._rig.away(self._rig.random.random() * self._threshold / 2, *SAFE)

    def _freeze_server(self) -> None:
        with self._rig.frozen_server():
            self._wait(self._threshold / 2)

    def _cut(self) -> None:
        for _ in range(10):
            self._proxy.cut()
            self._wait(0.2)

    def _cut_replies(self) -> None:
        for _ in range(10):
            self._proxy.cut_after_request()
            self._wait(0.2)

    def _swallow(self) -> None:
        self._proxy.black_hole()
        self._wait(self._threshold / 2)
        self._proxy.pass_on()

    def _flush_scripts(self) -> None:
        self._rig.redis.script_flush()

    def _wait(self, most: float) -> None:
        time.sleep(self._rig.random.random() * most)
