"""What a process is told to do, by signals and from afar (reference, section 25)."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Mapping
from types import FrameType
from typing import Any

STOP, STOP_NOW, QUIET, RESUME, DUMP = "stop", "stop now", "quiet", "resume", "dump"
RESTART, REOPEN, RETIRE, FULL, CHANGED = "restart", "reopen", "retire", "full", "changed"
"""`retire` is a stop from afar, `full` a limit that is reached, `changed` new code under `--reload`."""

CODE_CHANGED = 3
"""The exit status of a worker that has stopped for new code (`--reload`)."""

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
        self._process = 0
        self._before: dict[int, Any] = {}
        """What each signal did before this process listened."""

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
        self._process = os.getpid()
        for number, command in self._signals.items():
            # Below `nohup` it is ignored, and stays so.
            if number != signal.SIGHUP or command == REOPEN or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        os.register_at_fork(after_in_child=self._leave_to_others)

    def ignore(self) -> None:
        """Hear no more signals.

        The interpreter ends with the defaults: one signal more would make a clean stop look like a death.
        """
        for number in self._signals:
            signal.signal(number, signal.SIG_IGN)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if os.getpid() == self._process:
            self._waiting.put(self._signals[signal.Signals(number)])
            return
        # It came to a fork before that could give its signals back.
        self._leave_to_others()
        os.kill(os.getpid(), number)

    def _leave_to_others(self) -> None:
        """In a fork, which is no worker: a signal does there what it did before. A job that ends the processes which it
        has forked, as pools of `multiprocessing` do, would otherwise wait for them for ever.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler)
