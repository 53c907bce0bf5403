"""The one object through which every command and script of the product reaches Redis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import redis
from redis.connection import AbstractConnection, ConnectionPool
from redis.exceptions import NoScriptError

from cogworker_django.store.errors import ERRORS, sensible, translated, translation
from cogworker_django.store.keys import Keys
from cogworker_django.store.patterns import literal
from cogworker_django.store.scripts import load

Arg = str | bytes | int | float

LEFT_OVER = "more has arrived than the reply"
SCAN_COUNT = 1000
"""Keys that one step of a scan looks at."""


class Gateway:
    """Runs commands and scripts, with errors translated once.

    Args:
        client: a redis-py client that returns bytes and repeats nothing by itself.
        keys: the names of the keys.
    """

    def __init__(self, client: redis.Redis, keys: Keys) -> None:
        self.client = client
        self.keys = keys
        self._pool: ConnectionPool | None = getattr(client, "connection_pool", None)

    def call(self, *command: Arg, **options: Any) -> Any:
        """One command; its reply as redis-py gives it.

        Raises:
            RedisUnavailable: Redis is away.
            RedisRefused: it answered with an error.
        """
        with translated():
            return self._ask(*command, **options)

    def pipeline(self, commands: Sequence[Sequence[Arg]]) -> list[Any]:
        """Several commands in one round trip, not atomic; one failing raises after all have run."""
        with translated(), sensible():
            pipe = self.client.pipeline(transaction=False)
            for command in commands:
                pipe.execute_command(*command)
            return pipe.execute()

    def scan(self, cursor: int, pattern: str) -> tuple[int, list[bytes]]:
        """One step through the key space; the cursor to go on from, 0 at its end, and the keys that match.

        Args:
            cursor: 0 for the first step.
            pattern: in the server's own way; `patterns.literal` takes text literally.
        """
        options: dict[str, Any] = {}
        if self._pool is None:
            # All our keys lie in one slot, so on one node of the Cluster.
            options["target_nodes"] = self.client.get_node_from_key(self.keys.prefix)  # type: ignore[attr-defined]
        reached, found = self.call("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT, **options)
        if isinstance(reached, dict):
            (reached,) = reached.values()
        return int(reached), found

    def scan_all(self, start: str) -> Iterator[bytes]:
        """All keys that begin like this, in steps; one may come twice."""
        cursor = 0
        while True:
            cursor, found = self.scan(cursor, f"{literal(start)}*")
            yield from found
            if cursor == 0:
                return

    def run(self, name: str, keys: Sequence[str], args: Sequence[Arg] = ()) -> Any:
        """A script by its hash; its text is sent only to a server that does not know it (reference, section 23)."""
        script = load(name)
        try:
            try:
                return self._evaluate("EVALSHA", script.sha, len(keys), *keys, *args)
            except NoScriptError:
                return self._evaluate("EVAL", script.source, len(keys), *keys, *args)
        except ERRORS as error:
            raise translation(error) from error

    def _evaluate(self, *words: Arg) -> Any:
        """Sends a script straight over a connection of the pool: what a client does around a command beyond that
        takes as long as the round trip itself, and scripts are on every hot path. A Cluster's client has no pool of
        its own and chooses the connection itself.
        """
        if self._pool is None:
            return self.client.execute_command(*words)
        connection = self._pool.get_connection()
        try:
            connection.send_command(*words)
            return _whole(connection, connection.read_response())
        finally:
            self._pool.release(connection)

    def _ask(self, *words: Arg, **options: Any) -> Any:
        """The same for a command, whose reply redis-py gives its form."""
        if self._pool is None:
            return self.client.execute_command(*words, **options)
        connection = self._pool.get_connection()
        try:
            connection.send_command(*words)
            with sensible():
                reply = self.client.parse_response(connection, words[0], **options)
            return _whole(connection, reply)
        finally:
            self._pool.release(connection)


def _whole(connection: AbstractConnection, reply: Any) -> Any:
    """The reply, if nothing is left over behind it: else its framing was damaged, and nothing of it is believed."""
    try:
        more = connection.can_read()
    except ERRORS:
        # Closed since then: the reply is whole, and the next command notices.
        return reply
    if more:
        connection.disconnect()
        raise ConnectionError(LEFT_OVER)
    return reply
