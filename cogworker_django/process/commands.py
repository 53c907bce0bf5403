"""What a process is told to do, by signals and from afar (reference, section 25)."""

from __future__ import annotations

import queue
import signal
from collections.abc import Mapping
from types import FrameType

STOP, STOP_NOW, QUIET, RESUME, DUMP = "stop", "stop now", "quiet", "resume", "dump"
RESTART, REOPEN, RETIRE, FULL, CHANGED = "restart", "reopen", "retire", "full", "changed"
"""`retire` is a stop from afar, `full` a limit that is reached, `changed` new code under `--reload`."""

SIGNALS: Mapping[signal.Signals, str] = {
    signal.SIGTERM: STOP,
    signal.SIGINT: STOP_NOW,
    signal.SIGHUP: STOP,
    signal.SIGTSTP: QUIET,
    signal.SIGTTIN: DUMP,
    signal.SIGUSR2: RESTART,
}
"""The first INT stops like a TERM; only one that comes while stopping means at once. HUP is a terminal that closes."""


class Commands:
    """The commands that wait for the main thread. Signal handlers do nothing but put one in.

    Args:
        hangup: what HUP asks for: `STOP`, or `REOPEN` where there is a log file.
    """

    def __init__(self, hangup: str = STOP) -> None:
        self._signals = {**SIGNALS, signal.SIGHUP: hangup}
        # The only queue that a signal handler may put into (style anchors, part 5).
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.put = self._waiting.put

    def get(self, seconds: float = 0.0) -> str | None:
        """Take the next command.

        Args:
            seconds: how long to wait for one.

        Returns:
            The command; None when there is none.
        """
        try:
            return self._waiting.get(timeout=seconds) if seconds > 0 else self._waiting.get_nowait()
        except queue.Empty:
            return None

    def listen(self) -> None:
        """Begin to hear signals; on the main thread."""
        for number, command in self._signals.items():
            # Below `nohup` it is ignored, and stays so.
            if number != signal.SIGHUP or command == REOPEN or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def ignore(self) -> None:
        """Hear no more signals.

        The interpreter ends with the defaults: one signal more would make a clean stop look like a death.
        """
        for number in self._signals:
            signal.signal(number, signal.SIG_IGN)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._waiting.put(self._signals[signal.Signals(number)])
