"""What a worker and its jobs write reaches its reader, however the process ends."""

from __future__ import annotations

import pytest

from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig

pytestmark = pytest.mark.slow


def test_what_jobs_have_written_is_there_after_a_stop_that_leaves_them_behind(start_rig: StartRig) -> None:
    """Reference K7: the process ends in the middle of a job, and its buffers are not lost."""
    rig = start_rig(SHUTDOWN_TIMEOUT=0.3)
    worker = rig.worker("-c", "1")
    rig.until_running(rig.push_one(jobs.say, "half way", 30))
    assert worker.terminate() == 0
    assert "half way out" in worker.text
    assert "half way err" in worker.text
    assert "put 1 unfinished jobs back" in worker.text
    assert "INFO: stopped" in worker.text
    rig.verify(left=1)


def test_a_worker_that_may_not_ask_the_server_about_itself_works_without_a_word(start_rig: StartRig) -> None:
    """Case B069: CONFIG and INFO are forbidden."""
    rig = start_rig(server_flags=("--maxmemory-policy", "allkeys-lru"))
    rig.redis.execute_command("ACL", "SETUSER", "w", "on", ">pw", "~*", "&*", "+@all", "-config", "-info", "-acl")
    worker = rig.worker(REDIS=rig.server.url.replace("redis://", "redis://w:pw@"))
    rig.push_one(jobs.nap)
    rig.push_one(jobs.fail_after, 0.0, retry=0)
    rig.until_done(5)
    assert " ERROR:" not in worker.text
    assert "maxmemory-policy" not in worker.text
    rig.verify(left=1)
