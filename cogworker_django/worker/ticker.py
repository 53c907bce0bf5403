"""The thread that fires periodic entries when they are due (reference, section 15; engine, "Times")."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cogworker_django.core.entry import Entry
from cogworker_django.core.errors import RedisUnavailable
from cogworker_django.core.text import error_class, error_message, one_line
from cogworker_django.features.firing import Firing
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.periodic import Fired, PeriodicStore
from cogworker_django.worker.outage import Collapser

logger = logging.getLogger("cogworker")

LONGEST = 5.0
"""Seconds after which it looks at the clock again at the latest: a beat may have told another time."""
AWAY = 1.0
"""Seconds until it tries again while Redis is away."""
EARLY = 0.02
"""Seconds until it tries again when the server's clock is behind what this process believes."""
SET_BACK = 10.0
"""Seconds by which Redis's clock must have gone back to be thought of as set, and not just estimated better."""
BLOCKED_LOOK = 1.0
GRACE = 15.0
"""Seconds for which a slot waits for the job of an earlier one to end; then it is skipped (reference, 15.4)."""
FIRST_BACKOFF, LONGEST_BACKOFF = 5.0, 300.0
"""Seconds that an entry rests after an error of its own, doubled with each."""


@dataclass(slots=True)
class _State:
    """What this process knows of an entry."""

    entry: Entry
    next: int | None = None
    """The next slot, epoch seconds; None until the past was looked at."""
    errors: int = 0
    resting_until: float = 0.0
    """On the monotonic clock."""
    blocked_since: float | None = None


class Ticker:
    """Fires entries, each slot once among all processes.

    Args:
        entries: of this process.
        periodic: the slots.
        firing: pushes the jobs.
        clock: Redis's time.
        outages: where errors are reported.
        quiet: whether this process shall fire nothing at the moment.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        periodic: PeriodicStore,
        firing: Firing,
        clock: RedisClock,
        outages: Collapser,
        *,
        quiet: Callable[[], bool],
    ) -> None:
        self._states = [_State(entry) for entry in entries]
        self._periodic = periodic
        self._firing = firing
        self._clock = clock
        self._outages = outages
        self._quiet = quiet
        self._seen = 0.0
        """The time at the last look."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="cogworker-ticker", daemon=True)

    def start(self) -> None:
        """Starts the thread; there is none where there are no entries."""
        if self._states:
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the entry that it is at."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _loop(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                pause = self.round()
            except Exception:
                logger.exception("the ticker met an error and goes on")
                pause = LONGEST

    def round(self) -> float:
        """Fires what is due; seconds until the next look."""
        if self._quiet():
            return AWAY
        self._heed_clock()
        try:
            self._look_back()
            pauses = [self._tick(state) for state in self._states]
        except RedisUnavailable as error:
            self._outages.failed("periodic entries", error)
            return AWAY
        return max(EARLY, min([LONGEST, *pauses]))

    def _heed_clock(self) -> None:
        """Redis's clock was set back: what was the next slot before may be days away now."""
        now = self._clock.now()
        if now < self._seen - SET_BACK:
            for state in self._states:
                state.next = None
        self._seen = now

    def _look_back(self) -> None:
        """Finds what was missed before this process knew of the entry: the latest slot, at most."""
        new = [state for state in self._states if state.next is None]
        if not new:
            return
        look = self._periodic.look([state.entry.name for state in new])
        self._outages.succeeded("periodic entries")
        if look.damaged:
            logger.error("which periodic entries are disabled cannot be read: all count as enabled")
        now = self._clock.now()
        for state in new:
            entry = state.entry
            if entry.name in look.disabled:
                state.next = entry.cron.next_after(now)
            else:
                state.next = self._first(entry, look.slots.get(entry.name), now)

    def _first(self, entry: Entry, last: int | None, now: float) -> int:
        if last is not None and last > now + LONGEST:
            logger.warning(
                "periodic entry %s is not fired before %s: it is said to have been fired then, so Redis's clock was "
                "ahead; to begin anew from now on, disable and enable it",
                entry.name,
                _stamp(last),
            )
        latest = entry.cron.latest(now)
        if latest is None or (last is not None and last >= latest):
            return entry.cron.next_after(now)
        if last is None and not entry.catch_up and self._periodic.skip(entry.name, latest, first=True):
            return entry.cron.next_after(now)
        return latest

    def _tick(self, state: _State) -> float:
        """One entry; seconds until it is to be looked at again."""
        assert state.next is not None
        now, resting = self._clock.now(), state.resting_until - time.monotonic()
        if resting > 0:
            return resting
        if state.next <= now:
            # What was missed meanwhile collapses into its latest slot.
            state.next = max(state.next, state.entry.cron.latest(now) or state.next)
            self._fire(state)
        return max(EARLY, state.next - self._clock.now(), state.resting_until - time.monotonic())

    def _fire(self, state: _State) -> None:
        entry, slot = state.entry, state.next
        assert slot is not None
        try:
            fired = self._firing.fire(entry, slot)
        except RedisUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one entry must not stop the others, whatever middleware raises
            self._rest(state, error)
            return
        self._outages.succeeded("periodic entries")
        state.errors = 0
        if fired is Fired.EARLY:
            state.resting_until = time.monotonic() + EARLY
        elif fired is Fired.BLOCKED and self._waits(state):
            state.resting_until = time.monotonic() + BLOCKED_LOOK
        else:
            self._done(state, slot, fired)

    def _waits(self, state: _State) -> bool:
        """Whether a blocked slot is still worth waiting for."""
        now = time.monotonic()
        if state.blocked_since is None:
            state.blocked_since = now
        return now - state.blocked_since < GRACE

    def _done(self, state: _State, slot: int, fired: Fired) -> None:
        if fired is Fired.FIRED:
            logger.info("fired: %s, due at %s", state.entry.name, _stamp(slot))
        elif fired is Fired.BLOCKED and self._periodic.skip(state.entry.name, slot):
            logger.warning("skipped: %s, since its job of before, or one like it, waits or runs", state.entry.name)
        state.blocked_since = None
        state.next = state.entry.cron.next_after(max(slot, self._clock.now()))

    def _rest(self, state: _State, error: Exception) -> None:
        pause = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2**state.errors)
        state.errors += 1
        state.resting_until = time.monotonic() + pause
        reason = f"{error_class(error)}: {one_line(error_message(error), 200)}"
        logger.error("periodic entry %s could not be fired: %s (tried again in %g s)", state.entry.name, reason, pause)


def _stamp(slot: int) -> str:
    return time.strftime("%FT%TZ", time.gmtime(slot))
