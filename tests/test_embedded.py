from __future__ import annotations

import redis

from cogworker_django.embedded import port_is_taken
from tests.support import StartServer


def test_a_persistent_server_still_has_its_data_after_a_restart(start_server: StartServer) -> None:
    server = start_server(persistent=True)
    with redis.Redis.from_url(server.url) as client:
        client.set("kept", "yes")
    server.stop()
    server.start()
    with redis.Redis.from_url(server.url) as client:
        assert client.get("kept") == b"yes"


def test_a_port_is_taken_while_the_server_runs_and_free_afterwards(start_server: StartServer) -> None:
    server = start_server()
    assert port_is_taken(server.port)
    server.stop()
    assert not port_is_taken(server.port)
