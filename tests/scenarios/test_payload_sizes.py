"""T18: payloads and errors of many megabytes, refused or borne."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios import jobs
from tests.scenarios.conftest import StartRig
from tests.scenarios.process import WorkerProcess
from tests.scenarios.rig import Rig
from tests.scenarios.scale import size
from tests.scenarios.waiting import eventually

pytestmark = pytest.mark.slow

MB = 1_000_000
SIZES = [1 * MB, 10 * MB, size(20, 64) * MB]
ERROR = 10 * MB
ROOM = 100_000
"""Bytes of a payload beside its argument, and more."""
RUN, FILED = 4, 10
"""How many times a payload may be in memory at once: as it arrives, as bytes and as text; and beside that, when it is
filed, as it is written again, in the message to the server, and in the client's buffers.
"""
SLACK = 4 * MB
"""What a process grows by whatever it does."""


class Peak:
    """Measures how much more memory a process has taken at its highest, in bytes."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._folder = Path("/proc") / str(worker.pid)
        (self._folder / "clear_refs").write_text("5")
        self._before = self._highest()

    @property
    def growth(self) -> int:
        return self._highest() - self._before

    def _highest(self) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_what_is_over_the_limit_is_refused_whole_and_says_why(start_rig: StartRig) -> None:
    rig = start_rig(MAX_PAYLOAD_BYTES=MB)
    rig.push_one(jobs.swallow, "x" * (MB - ROOM))
    with pytest.raises(ValueError, match="MAX_PAYLOAD_BYTES"):
        jobs.swallow.perform_async("x" * MB)
    with pytest.raises(ValueError, match="MAX_PAYLOAD_BYTES"):
        jobs.swallow.perform_bulk([("small",), ("x" * MB,)])
    assert rig.queued() == 1
    rig.worker()
    rig.until_done(10)
    rig.verify()


def test_a_worker_holds_a_large_payload_only_a_few_times(start_rig: StartRig) -> None:
    rig = start_rig(MAX_PAYLOAD_BYTES=max(SIZES) + ROOM, CONCURRENCY=1)
    worker = rig.worker()
    _warm_up(rig)
    for number, each in enumerate(SIZES, start=1):
        peak = Peak(worker)
        rig.push_one(jobs.swallow, "x" * each)
        rig.until_done(30)
        done = peak.growth
        rig.push_one(jobs.fail_with, 10, "x" * each, retry=0)
        eventually(lambda died=1 + number: rig.count("failed") == died, 30, "the failure", rig.logs)  # type: ignore[misc]
        failed = peak.growth
        print(f"{each // MB} MB: grown by {done / each:.1f} times as much when done, {failed / each:.1f} when failed")
        assert done <= RUN * each + SLACK
        assert failed <= FILED * each + SLACK
    assert [len(entry["args"][1]) for entry in rig.filed("dead")][1:] == SIZES
    rig.verify(left=1 + len(SIZES))


def _warm_up(rig: Rig) -> None:
    """What a process needs for its first jobs, and its first failure, it keeps."""
    rig.push(jobs.swallow, [("small",)] * 50)
    rig.push_one(jobs.fail_with, 10, "small", retry=0)
    rig.until_done(10)


def test_an_error_of_ten_megabytes_is_cut(rig: Rig) -> None:
    worker = rig.worker()
    _warm_up(rig)
    peak = Peak(worker)
    rig.push_one(jobs.fail_with, ERROR, "")
    rig.until_done(20)
    (entry,) = rig.filed("retry")
    print(f"{ERROR // MB} MB of error text: grown by {peak.growth / ERROR:.1f} times as much")
    assert len(entry["error_message"]) == 10_000
    assert peak.growth <= RUN * ERROR + SLACK
    rig.verify(left=2)


def test_a_large_job_outlives_its_process(start_rig: StartRig, tmp_path: Path) -> None:
    rig = start_rig(MAX_PAYLOAD_BYTES=max(SIZES) + ROOM)
    victim = rig.worker()
    jid = rig.push_one(jobs.wait_for, str(tmp_path / "gate"), "x" * max(SIZES))
    rig.until_running(jid)
    rig.kill(victim)
    (tmp_path / "gate").touch()
    rig.worker()
    rig.until_done(20)
    rig.verify()
    assert rig.ledger.starts(jid) == 2
