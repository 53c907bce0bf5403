"""Redis's clock as this process knows it: the one clock for due times, beats and slots (engine, "Times")."""

from __future__ import annotations

import time


class RedisClock:
    """Estimates the server's time between replies that told it.

    Each trip and each beat tells the server's time; in between the monotonic clock goes on from there, so that a
    host whose own clock is wrong or is set does not matter.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def tell(self, now: float) -> None:
        """Takes over the server's time, in epoch seconds, as just received."""
        self._offset = now - time.monotonic()

    def now(self) -> float:
        """The server's time in epoch seconds."""
        return time.monotonic() + self._offset

    def until(self, moment: float) -> float:
        """Seconds from now until a moment of the server's time; negative when it has passed."""
        return moment - self.now()
