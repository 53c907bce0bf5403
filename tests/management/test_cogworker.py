from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import redis

from tests.support import StartServer, finished, manage, project

JOBS = """
import logging
from cogworker_django import Job, job
from django.db import connection

@job
def write(path, text):
    logging.getLogger("cogworker").info("writing %s", text)
    with open(path, "a", encoding="utf-8") as out:
        print(text, file=out)

@job(name="ärger.größe", queue="größe")
def umlaut(path, text):
    write(path, text)

@job
def query(path):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 41 + 1")
        write(path, str(cursor.fetchone()[0]))
"""
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z pid=\d+ (DEBUG|INFO|WARNING|ERROR|CRITICAL): [^\n]*")

Push = Callable[..., None]


@pytest.fixture
def shop(tmp_path: Path, redis_url: str) -> dict[str, Any]:
    return project(tmp_path, {"REDIS": redis_url}, JOBS)


@pytest.fixture
def push(redis_client: redis.Redis) -> Push:
    """Put a job on its queue as any foreign program may."""

    def push(name: str, *args: object, queue: str = "default") -> None:
        payload = {"class": name, "args": args, "jid": os.urandom(12).hex(), "queue": queue}
        redis_client.lpush(f"cogworker:queue:{queue}", json.dumps(payload, ensure_ascii=False).encode())

    return push


def until_it_has_beaten(client: redis.Redis, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 15
    while not client.hlen("cogworker:beats"):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-c", "x"), "--concurrency: must be a whole number of at least 1, not 'x'."),
        (("-c", "0"), "--concurrency: must be a whole number of at least 1, not 0."),
        (("-c", "-1"), "--concurrency: must be a whole number of at least 1, not '-1'."),
        (("--fetch", "fast"), "--fetch: must be 'reliable' or 'basic', not 'fast'."),
        (("-q", "no no"), "-q 'no no': queue name 'no no' is not allowed"),
        (("-q", "low,many"), "-q 'low,many', the weight: must be a whole number of at least 1, not 'many'."),
        (("-C", "nowhere.toml"), "-C nowhere.toml: the file cannot be read"),
        (("-L", "nowhere/at/all.log"), "-L nowhere/at/all.log: the file cannot be opened"),
        (("--tag", ""), "--tag: must be 1 to 100 printable characters, not ''."),
    ],
)
def test_a_faulty_flag_is_one_line_and_exit_1(shop: dict[str, Any], words: tuple[str, ...], expected: str) -> None:
    code, out, err = finished(manage("cogworker", *words, **shop))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith(expected)


def test_an_unknown_flag_is_exit_2(shop: dict[str, Any]) -> None:
    code, _, err = finished(manage("cogworker", "--turbo", **shop))
    assert code == 2
    assert "unrecognized arguments: --turbo" in err


def test_faults_of_settings_file_environment_and_flags_come_together(tmp_path: Path) -> None:
    (tmp_path / "worker.toml").write_text("concurrency = 0\n")
    jobs = "from cogworker_django import job\n@job(name='one')\ndef a(): ...\n@job(name='one')\ndef b(): ...\n"
    settings: dict[str, object] = {"QUEUES": [], "SERVER_MIDDLEWARE": ["no path"], "COLOUR": "red"}
    where = project(tmp_path, settings, jobs)
    process = manage("cogworker", "-C", "worker.toml", "-q", "", COGWORKER_COUNT="few", **where)
    code, out, err = finished(process)
    assert (code, out) == (1, "")
    assert [line.partition(":")[0] for line in err.splitlines()] == [
        'COGWORKER["COLOUR"]',
        'COGWORKER["QUEUES"]',
        'COGWORKER["SERVER_MIDDLEWARE"][0]',
        "job name 'one' is used by shop.jobs.a and shop.jobs.b",
        "COGWORKER_COUNT",
        'worker.toml["concurrency"]',
        "-q ''",
    ]


def test_middleware_that_cannot_be_imported_keeps_the_worker_from_starting(tmp_path: Path) -> None:
    where = project(tmp_path, {"SERVER_MIDDLEWARE": ["shop.nowhere.Middleware"]})
    code, _, err = finished(manage("cogworker", **where))
    assert code == 1
    assert err.startswith('COGWORKER["SERVER_MIDDLEWARE"][0]: shop.nowhere.Middleware cannot be imported')
    assert err.count("\n") == 1


def test_a_drained_worker_has_run_everything_and_exits_0(
    shop: dict[str, Any], push: Push, tmp_path: Path, redis_client: redis.Redis
) -> None:
    done = tmp_path / "done"
    for number in range(5):
        push("shop.jobs.write", str(done), str(number))
    push("shop.jobs.query", str(done))
    code, out, err = finished(manage("cogworker", "--drain", "-c", "2", **shop))
    assert (code, err) == (0, "")
    assert sorted(done.read_text().split()) == ["0", "1", "2", "3", "4", "42"]
    assert redis_client.get("cogworker:stats:processed") == b"6"
    lines = out.splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    assert any("writing 0" in line for line in lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_worker_with_exit_0(
    shop: dict[str, Any], redis_client: redis.Redis, number: signal.Signals
) -> None:
    process = manage("cogworker", "--tag", "büro", "-q", "high,3", "-q", "low", **shop)
    until_it_has_beaten(redis_client, process)
    ((identity, _),) = cast("dict[bytes, bytes]", redis_client.hgetall("cogworker:beats")).items()
    info = json.loads(cast(bytes, redis_client.get(b"cogworker:process:" + identity)))
    assert (info["tag"], info["queues"]) == ("büro", [["high", 3], ["low", 1]])
    process.send_signal(number)
    code, _, err = finished(process)
    assert (code, err) == (0, "")
    assert redis_client.hlen("cogworker:beats") == 0


def test_text_of_any_script_survives_a_c_locale(
    shop: dict[str, Any], push: Push, tmp_path: Path, redis_client: redis.Redis
) -> None:
    done = tmp_path / "done"
    text = "中文 🐘 \u202eabc\u202c"
    push("ärger.größe", str(done), text, queue="größe")
    plain = {"LANG": "C", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, out, err = finished(manage("cogworker", "--drain", "-q", "größe", **shop | plain))
    assert (code, err) == (0, "")
    assert done.read_text(encoding="utf-8") == text + "\n"
    assert "writing 中文 🐘 \\u202eabc\\u202c" in out


def test_the_log_file_takes_everything(shop: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("earlier\n")
    code, out, err = finished(manage("cogworker", "--drain", "-L", str(log), **shop))
    assert (code, out, err) == (0, "", "")
    earlier, *lines = log.read_text().splitlines()
    assert earlier == "earlier"
    assert "started" in lines[0]


def test_handlers_of_the_project_are_left_alone(tmp_path: Path, redis_url: str) -> None:
    logging = {
        "version": 1,
        "formatters": {"own": {"format": "own %(message)s"}},
        "handlers": {"own": {"class": "logging.StreamHandler", "formatter": "own"}},
        "root": {"handlers": ["own"], "level": "INFO"},
    }
    where = project(tmp_path, {"REDIS": redis_url}, more=f"LOGGING = {logging!r}")
    code, out, err = finished(manage("cogworker", "--drain", **where))
    assert (code, out) == (0, "")
    assert all(line.startswith("own ") for line in err.splitlines())
    assert "started" in err


def test_a_file_tells_what_to_do_with_variables_filled_in(
    tmp_path: Path, shop: dict[str, Any], push: Push, redis_client: redis.Redis
) -> None:
    file, done = tmp_path / "worker.toml", tmp_path / "done"
    file.write_text('concurrency = ${THREADS:-3}\nqueues = ["${QUEUE}"]\n')
    push("shop.jobs.write", str(done), "from the file", queue="low")
    code, out, err = finished(manage("cogworker", "-C", str(file), "--drain", QUEUE="low", **shop))
    assert (code, err) == (0, "")
    assert "3 threads, queues low" in out
    assert done.read_text() == "from the file\n"


def test_a_wrong_password_is_told_in_one_line_and_without_repeating_it(
    tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server("--requirepass", "right")
    where = project(tmp_path, {"REDIS": {"URL": server.url, "PASSWORD": "hunter2"}})
    process = manage("cogworker", **where)
    assert process.stdout is not None and process.stderr is not None
    assert select.select([process.stdout, process.stderr], [], [], 15)[0], "nothing was said"
    process.send_signal(signal.SIGTERM)
    _, out, err = finished(process)
    (line, *_) = (out + err).splitlines()
    assert "invalid username-password pair" in line or "WRONGPASS" in line
    assert "hunter2" not in out + err
    assert "Traceback" not in out + err
