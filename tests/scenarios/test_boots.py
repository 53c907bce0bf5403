"""Starts that cannot succeed: one clear line and exit 1, or the documented waiting (B142)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.rig import PREFIX, Rig
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow


FAULTS: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (("-c", "0"), {}, "--concurrency: must be a whole number of at least 1"),
    (("-c", "-1"), {}, "--concurrency: must be a whole number of at least 1"),
    (("-c", "x"), {}, "--concurrency: must be a whole number of at least 1"),
    ((), {"CONCURRENCY": 0}, 'COGWORKER["CONCURRENCY"]'),
    ((), {"CONCURRENCY": "x"}, 'COGWORKER["CONCURRENCY"]'),
    ((), {"QUEUES": []}, 'COGWORKER["QUEUES"]: must name at least one queue'),
    (("-q", ""), {}, "-q"),
    (("-L", "/nowhere/at/all.log"), {}, "-L /nowhere/at/all.log: the file cannot be opened"),
    (("-C", "/nowhere.toml"), {}, "-C /nowhere.toml: the file cannot be read"),
    ((), {"REDIS": "http://localhost"}, 'COGWORKER["REDIS"]'),
    (("--processes", "0"), {}, "--processes: must be a whole number of at least 1"),
    (("--processes", "many"), {}, "--processes: must be a whole number of at least 1"),
    (("--processes", "100000"), {}, "--processes: must be a whole number from 1 to 500"),
    (("--max-jobs", "0"), {}, "--max-jobs: must be a whole number of at least 1"),
    (("--max-rss", "1.5"), {}, "--max-rss: must be a whole number of at least 1"),
    (("--max-rss", "1"), {}, "--max-rss: 1 MiB is too little: a process takes "),
    (("--health", "8080"), {}, "--health: must be HOST:PORT"),
    (("--health", "192.0.2.1:80"), {}, "--health: nobody can listen on 192.0.2.1:80: "),
    (("--reload", "--processes", "2"), {}, "--reload: is for one process that stays, and does not go with 2 processes"),
    (("--reload", "--drain"), {}, "--reload: is for one process that stays, and does not go with --drain"),
]


def test_each_fault_is_one_line_and_exit_1(rig: Rig) -> None:
    started = [rig.worker(*flags, wait=False, **settings) for flags, settings, _ in FAULTS]
    for worker, (flags, settings, words) in zip(started, FAULTS, strict=True):
        about = f"{flags} {settings}: {worker.text}"
        assert worker.exit_status(30) == 1, about
        assert words in worker.text, about
        assert len(worker.text.splitlines()) == 1, about
        worker.no_traceback()


def test_a_limit_that_chance_would_lower_too_far_is_refused(rig: Rig) -> None:
    refused = rig.worker("--max-rss", "1", wait=False)
    assert refused.exit_status(20) == 1
    taken = int(refused.text.split("a process takes ", 1)[1].split()[0])
    worker = rig.worker("--max-rss", str(taken + 1), wait=False)
    assert worker.exit_status(20) == 1
    assert "is too little" in worker.text


def test_a_port_that_is_taken_is_one_line_and_exit_1(rig: Rig) -> None:
    taken = f"127.0.0.1:{rig.server.port}"
    for flags in ((), ("--processes", "2")):
        worker = rig.worker("--health", taken, *flags, wait=False)
        assert worker.exit_status(20) == 1
        assert worker.text == f"--health: nobody can listen on {taken}: Address already in use.\n"


def test_a_word_in_the_environment_is_one_line_and_exit_1(rig: Rig) -> None:
    for name, value in (("COGWORKER_COUNT", "two"), ("COGWORKER_COUNT", "0"), ("PHASED_RESTART", "yes")):
        worker = rig.worker(wait=False, environ={name: value})
        assert worker.exit_status(20) == 1
        assert worker.text.startswith(f"{name}: must be ")
        assert len(worker.text.splitlines()) == 1, worker.text


def test_a_wrong_password_is_one_line_and_exit_1(start_rig: StartRig) -> None:
    rig = start_rig(server_flags=("--requirepass", "right"))
    for url in (rig.server.url, rig.server.url.replace("://", "://:wrong@")):
        worker = rig.worker(wait=False, REDIS=url)
        assert worker.exit_status(20) == 1
        assert len(worker.text.splitlines()) == 1, worker.text
        assert "wrong" not in worker.text.replace("wrong number", ""), "the password is told"
        worker.no_traceback()


def test_a_worker_waits_for_redis_and_begins_by_itself(rig: Rig) -> None:
    rig.server.kill()
    worker = rig.worker(wait=False)
    worker.said("Redis is not available")
    rig.server.start()
    jid = rig.push_one(jobs.nap)
    eventually(lambda: rig.ledger.starts(jid), 5, "the job to run", rig.logs)
    worker.started()
    assert worker.text.count("Redis is not available") == 1
    rig.until_done(5)
    rig.verify()


def test_text_beyond_ascii_is_whole_where_the_locale_knows_none(rig: Rig) -> None:
    """B096."""
    environ = {"LANG": "C", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    worker = rig.worker("-q", "wäsche", environ=environ)
    texts = ["中文", "🙂", "\u202eabc\u202c", "ü"]
    jid = rig.push_one(jobs.tell, *texts, queue="wäsche")
    rig.until_done(5)
    assert f"jid={jid}" in worker.text
    assert "übung.größe" in worker.text
    assert "中文" in worker.text
    assert "wäsche" in worker.text
    assert "\u202e" not in worker.text, "marks that turn the direction are escaped"
    assert rig.redis.exists(f"{PREFIX}retry", f"{PREFIX}dead") == 0
    rig.verify()


def test_faulty_periodic_entries_are_all_told_before_anything_starts(rig: Rig) -> None:
    """W1, W2: ours are checked before the first thread; upstream only logs what it cannot resolve, and goes on."""
    entries = [{"name": "a", "cron": "* * *", "job": "nap"}, {"name": "b", "cron": "* * * * *", "job": "nobody"}]
    for flags in ((), ("--processes", "2")):
        worker = rig.worker(*flags, wait=False, PERIODIC=entries)
        assert worker.exit_status(20) == 1
        told = worker.text.splitlines()
        assert len(told) == 2, worker.text
        assert all('COGWORKER["PERIODIC"]' in line for line in told), worker.text
