"""Bringing back the jobs of dead processes, and burying those that keep killing theirs (reference, section 10)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from cogworker_django.core import codec
from cogworker_django.core.errors import CogworkerError, ProcessDied, RedisUnavailable, UnreadablePayload
from cogworker_django.core.payload import Payload, orphaned, read, unreadable
from cogworker_django.store.store import Store
from cogworker_django.worker.deaths import DeathHooks
from cogworker_django.worker.outage import Collapser

logger = logging.getLogger("cogworker")

RETRY_AFTER = 5.0
"""Seconds until the next pass after one that lost the connection."""


class Rescuer:
    """Looks for dead processes at boot and then at an interval.

    Args:
        store: Redis.
        identity: of this process, whose own jobs are never touched.
        deaths: the death hooks.
        interval: seconds between passes.
        grace: seconds to wait before others are judged, when they cannot be at the moment.
        threshold: seconds without a beat after which a process counts as dead.
        may_judge: whether this process may take others for dead now.
        max_orphanings: for the message of a buried job.
        outages: where errors are reported.
        after: called after each pass.
        hand_over: takes death hooks to a processor thread.
    """

    def __init__(
        self,
        store: Store,
        identity: str,
        deaths: DeathHooks,
        *,
        interval: float,
        grace: float,
        threshold: float,
        may_judge: Callable[[], bool],
        max_orphanings: int,
        outages: Collapser,
        after: Callable[[], None],
        hand_over: Callable[[Callable[[], None]], None],
    ) -> None:
        self._store = store
        self._identity = identity
        self._deaths = deaths
        self._interval = interval
        self._grace = grace
        self._threshold = threshold
        self._may_judge = may_judge
        self._max_orphanings = max_orphanings
        self._outages = outages
        self._after = after
        self._hand_over = hand_over
        self._scanned = False
        self._server: str | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="cogworker-recovery", daemon=True)

    def start(self) -> None:
        """Starts the thread; the first pass comes at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the pass it is in."""
        self._stopping.set()
        self._thread.join(timeout=1.0)

    def look(self) -> bool:
        """One pass over all processes but this one; whether Redis was there all the time."""
        try:
            for identity in sorted(self._candidates() - {self._identity}):
                self._recover(identity)
            self._bury_parked()
        except CogworkerError as error:
            self._outages.failed("recovery", error)
            return not isinstance(error, RedisUnavailable)
        self._outages.succeeded("recovery")
        return True

    def _loop(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                pause = self._pass()
            except Exception:
                logger.exception("recovery met an error and goes on")
                pause = self._interval

    def _pass(self) -> float:
        """Judges others only while this process's own beats are heard by the server that it knows."""
        if not self._may_judge() or self._is_new_server():
            return self._grace
        complete = self.look()
        self._after()
        return self._interval if complete else min(RETRY_AFTER, self._interval)

    def _is_new_server(self) -> bool:
        """After a restart or a failover everybody's beats may be old: nobody is judged before they beat again."""
        try:
            life = self._store.server.life()
        except CogworkerError as error:
            self._outages.failed("recovery", error)
            return True
        if life is None:
            return False
        known, self._server = self._server, life.run_id
        return life.uptime < self._threshold if known is None else known != life.run_id

    def _candidates(self) -> set[str]:
        """Who may be dead. At boot, and while the registry cannot be read, by a look through all keys."""
        identities = self._registered()
        if not self._scanned:
            identities |= self._store.recovery.scan()
            self._scanned = True
        return identities

    def _registered(self) -> set[str]:
        try:
            return self._store.recovery.registered()
        except RedisUnavailable:
            raise
        except CogworkerError as error:
            self._scanned = False
            logger.error("the registry of processes cannot be read: %s", error)
            return set()

    def _recover(self, identity: str) -> None:
        try:
            recovered = self._store.recovery.recover(identity)
        except RedisUnavailable:
            raise
        except CogworkerError as error:
            logger.error("the jobs of process %s could not be recovered: %s", identity, error)
            return
        if recovered is None:
            return
        requeued = recovered.moved - recovered.parked
        if requeued:
            logger.warning("requeued %d jobs of the dead process %s", requeued, identity)
            self._report_unread(recovered.queues)
        if recovered.failed:
            logger.error("%d jobs of the dead process %s could not be put back", recovered.failed, identity)

    def _report_unread(self, queues: set[str]) -> None:
        read_by_somebody = {
            queue[0] for process in self._store.process_reader.living() for queue in process.info.get("queues", ())
        }
        unread = sorted(queues - read_by_somebody)
        if unread:
            logger.warning("no living process reads the queues that jobs were put back onto: %s", ", ".join(unread))

    def _bury_parked(self) -> None:
        for raw in self._store.recovery.parked():
            payload, entry = self._epitaph(raw)
            encoded, score = codec.encode(entry), self._store.clock.now()
            if self._store.recovery.bury(raw, entry["jid"], encoded, score):
                logger.error("buried %s jid=%s: %s", entry["class"], entry["jid"], entry["error_message"])
                if payload is not None and self._deaths.wanted(entry["class"]):
                    error = ProcessDied(entry["error_message"])
                    self._hand_over(partial(self._deaths.run, encoded, error))

    def _epitaph(self, raw: bytes) -> tuple[Payload | None, Payload]:
        now = time.time()
        try:
            payload = read(raw)
        except UnreadablePayload as error:
            return None, unreadable(raw, None, error, now)
        return payload, orphaned(payload, self._max_orphanings, now)
