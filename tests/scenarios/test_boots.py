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
]


def test_each_fault_is_one_line_and_exit_1(rig: Rig) -> None:
    started = [rig.worker(*flags, wait=False, **settings) for flags, settings, _ in FAULTS]
    for worker, (flags, settings, words) in zip(started, FAULTS, strict=True):
        about = f"{flags} {settings}: {worker.text}"
        assert worker.exit_status(30) == 1, about
        assert words in worker.text, about
        assert len(worker.text.splitlines()) == 1, about
        worker.no_traceback()


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
