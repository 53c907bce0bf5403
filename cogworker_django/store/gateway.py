"""The one object through which every command and script of the product reaches Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from cogworker_django.store.errors import translated
from cogworker_django.store.keys import Keys
from cogworker_django.store.scripts import load

Arg = str | bytes | int | float


class Gateway:
    """Runs commands and scripts, with errors translated once.

    Args:
        client: a redis-py client that returns bytes and repeats nothing by itself.
        keys: the names of the keys.
    """

    def __init__(self, client: redis.Redis, keys: Keys) -> None:
        self.client = client
        self.keys = keys

    def call(self, *command: Arg, **options: Any) -> Any:
        """One command; its reply as redis-py gives it.

        Raises:
            RedisUnavailable: Redis is away.
            RedisRefused: it answered with an error.
        """
        with translated():
            return self.client.execute_command(*command, **options)

    def pipeline(self, commands: Sequence[Sequence[Arg]]) -> list[Any]:
        """Several commands in one round trip, not atomic; one failing raises after all have run."""
        with translated():
            pipe = self.client.pipeline(transaction=False)
            for command in commands:
                pipe.execute_command(*command)
            return pipe.execute()

    def run(self, name: str, keys: Sequence[str], args: Sequence[Arg] = ()) -> Any:
        """A script by its hash; its text is sent only to a server that does not know it (reference, section 23)."""
        script = load(name)
        with translated():
            try:
                return self.client.evalsha(script.sha, len(keys), *keys, *args)
            except NoScriptError:
                return self.client.eval(script.source, len(keys), *keys, *args)
