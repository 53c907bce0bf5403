"""The thread that sees to it that nothing lies about while the processors are busy."""

from __future__ import annotations

import logging
import threading
import time

from cogworker_django.worker.exchange import SETTLE_AFTER, Exchange

logger = logging.getLogger("cogworker")


class Keeper:
    """Settles verdicts after 2 ms, gives fetched jobs back after 100 ms, and looks for foreign pushes when idle.

    Args:
        exchange: what it keeps.
        interval: seconds between two looks of an idle process (`FETCH_IDLE_MAX_INTERVAL`).
    """

    def __init__(self, exchange: Exchange, *, interval: float) -> None:
        self._exchange = exchange
        self._interval = interval
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="cogworker-keeper", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread once the exchange has been closed."""
        self._stopping = True
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._stopping:
            try:
                if self._exchange.busy:
                    time.sleep(SETTLE_AFTER)
                    self._exchange.tend()
                else:
                    self._exchange.rest(max(0.0, looked + self._interval - time.monotonic()))
                if time.monotonic() - looked >= self._interval:
                    looked = time.monotonic()
                    self._exchange.look()
            except Exception:
                logger.exception("the keeper met an error and goes on")
                time.sleep(self._interval)
