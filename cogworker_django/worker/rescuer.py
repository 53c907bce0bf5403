"""Bringing back the jobs of dead processes, and burying those that keep killing theirs (reference, section 10)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from cogworker_django.core import codec
from cogworker_django.core.errors import CogworkerError, ProcessDied, RedisUnavailable, UnreadablePayload
from cogworker_django.core.payload import Payload, orphaned, read, unreadable
from cogworker_django.core.state import State
from cogworker_django.store.clock import RedisClock
from cogworker_django.store.store import Store
from cogworker_django.store.trips import queue_in
from cogworker_django.worker.deaths import DeathHooks

logger = logging.getLogger("cogworker")

STEP = 0.5
"""The share of the threshold by which Redis's clock may run ahead of ours between two passes before that is a step
of its host's clock, after which everybody's beats look old."""


class Rescuer:
    """Looks for dead processes, one pass at a time.

    Args:
        store: Redis.
        identity: of this process, whose own jobs are never touched.
        deaths: the death hooks.
        grace: seconds to wait before others are judged, when they cannot be at the moment.
        threshold: seconds without a beat after which a process counts as dead.
        may_judge: whether this process may take others for dead now.
        max_orphanings: for the message of a buried job.
        hand_over: takes death hooks to a processor thread.
    """

    def __init__(
        self,
        store: Store,
        identity: str,
        deaths: DeathHooks,
        *,
        grace: float,
        threshold: float,
        may_judge: Callable[[], bool],
        max_orphanings: int,
        hand_over: Callable[[Callable[[], None]], None],
    ) -> None:
        self._store = store
        self._identity = identity
        self._deaths = deaths
        self._grace = grace
        self._threshold = threshold
        self._may_judge = may_judge
        self._max_orphanings = max_orphanings
        self._hand_over = hand_over
        self._scanned = False
        self._server: str | None = None
        self._clock = RedisClock()

    def round(self) -> float | None:
        """One pass, if this process may judge others: while its own beats are heard by the server that it knows.

        Returns:
            Seconds after which to come again, when it may not; else None.

        Raises:
            RedisUnavailable: the rest of the pass is still to be made.
        """
        if not self._may_judge() or self._is_new_server():
            return self._grace
        self.look()
        return None

    def look(self) -> None:
        """One pass over all processes but this one.

        Raises:
            RedisUnavailable: the rest of it is still to be made.
        """
        registered = self._registered()
        found = set() if self._scanned else self._found()
        for identity in sorted((registered | found) - {self._identity}):
            if not self._is_done_with(identity) and identity not in registered:
                self._register(identity)

    def lost_registry(self) -> None:
        """The registry was damaged and begins anew: who died before is not in it and is looked for by its hash."""
        self._scanned = False

    def _is_new_server(self) -> bool:
        """After a restart or a failover, or a step of its clock, everybody's beats may be old: nobody is judged
        before they beat again.
        """
        life = self._store.server.life()
        if life is None:
            return False
        known, self._server = self._server, life.run_id
        if known is None:
            stepped = life.uptime < self._threshold
        else:
            stepped = life.now - self._clock.now() > self._threshold * STEP
        self._clock.tell(life.now)
        return stepped or known not in (None, life.run_id)

    def _is_done_with(self, identity: str) -> bool:
        """Recovers what a process left; False when it lives, or something is left of it."""
        try:
            return self._recover(identity)
        except RedisUnavailable:
            raise
        except CogworkerError as error:
            logger.error("the jobs of process %s could not be recovered: %s", identity, error)
            return False

    def _register(self, identity: str) -> None:
        """One that beats while it lives; if it does not, it is dead like others after the threshold from now on."""
        try:
            self._store.recovery.register(identity)
        except RedisUnavailable:
            raise
        except CogworkerError as error:
            self._scanned = False
            logger.error("process %s could not be registered: %s", identity, error)

    def _found(self) -> set[str]:
        """At boot, and while the registry cannot be read, all keys are looked through."""
        try:
            identities = self._store.recovery.scan()
        except RedisUnavailable:
            raise
        except CogworkerError as error:
            logger.error("no look for unregistered processes: %s", error)
            return set()
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

    def _recover(self, identity: str) -> bool:
        """Recovers what a process left; False when it lives, or something is left of it."""
        recovered = self._store.recovery.recover(identity)
        if recovered is None:
            return False
        for token, raw in self._store.recovery.condemned(identity, recovered.condemned):
            self._bury(identity, token, raw)
        if recovered.moved:
            logger.warning("requeued %d jobs of the dead process %s", recovered.moved, identity)
            self._report_unread(recovered.queues)
        if recovered.failed:
            logger.error("%d jobs of the dead process %s could not be put back", recovered.failed, identity)
        return not recovered.failed

    def _report_unread(self, queues: set[str]) -> None:
        read_by_somebody = {queue for process in self._store.process_reader.living() for queue in process.queues}
        unread = sorted(queues - read_by_somebody)
        if unread:
            logger.warning("no living process reads the queues that jobs were put back onto: %s", ", ".join(unread))

    def _bury(self, identity: str, token: str, raw: bytes) -> None:
        payload, entry = self._epitaph(raw, token)
        encoded = codec.encode(entry)
        if not self._store.recovery.bury(identity, token, encoded):
            return
        logger.error("buried %s jid=%s: %s", entry["class"], entry["jid"], entry["error_message"])
        self._tell_failed(entry, queue_in(token))
        if payload is not None and self._deaths.wanted(entry["class"]):
            self._hand_over(partial(self._deaths.run, encoded, ProcessDied(entry["error_message"])))

    def _tell_failed(self, entry: Payload, queue: str) -> None:
        """The status of a buried job; a write beside, which changes nothing about it."""
        fields = {name: entry[name] for name in ("error_class", "error_message")}
        try:
            self._store.statuses.write(entry["jid"], State.FAILED, entry["class"], queue, fields)
        except CogworkerError as error:
            logger.warning("the status of jid=%s could not be written: %s", entry["jid"], error)

    def _epitaph(self, raw: bytes, token: str) -> tuple[Payload | None, Payload]:
        now = time.time()
        try:
            payload = read(raw)
        except UnreadablePayload as error:
            return None, unreadable(raw, queue_in(token), error, now)
        return payload, orphaned(payload, self._max_orphanings, now)
