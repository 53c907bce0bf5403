"""The parent of a swarm: real processes, real signals, no Redis."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from cogworker_django.swarm import supervisor as room
from tests.scenarios.swarm import status
from tests.scenarios.waiting import eventually
from tests.support import ROOT


class Troupe:
    """A running swarm and what it has said."""

    def __init__(self, directory: Path, *words: str, under: str = "true", **environ: str) -> None:
        self._log = directory / "log"
        self.stage = directory / "stage"
        with self._log.open("wb") as out:
            self._popen = subprocess.Popen(
                ["sh", "-c", f'{under}; exec "$0" "$@"', sys.executable, "-m", "tests.swarm.troupe", *words],
                cwd=ROOT,
                env={**os.environ, "STAGE": str(self.stage), **environ},
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.pid = self._popen.pid

    @property
    def text(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def children(self) -> list[psutil.Process]:
        """The children that live."""
        try:
            found = psutil.Process(self.pid).children()
        except psutil.NoSuchProcess:
            return []
        return [child for child in found if status(child) not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)]

    def born(self, number: int) -> list[int]:
        """Wait until so many children have been born; their ids, in the order of birth."""
        eventually(lambda: self.text.count("born ") >= number, 20, f"{number} births", lambda: self.text)
        return [int(pid) for pid in re.findall(r"born (\d+)", self.text)]

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def said(self, words: str, times: int = 1) -> None:
        eventually(lambda: self.text.count(words) >= times, 20, f"{words!r}", lambda: self.text)

    def status(self) -> int:
        """Wait for its end; its exit status."""
        status = self._popen.wait(30)
        assert "Traceback" not in self.text, self.text
        return status

    def reap(self) -> None:
        for child in self.children:
            child.kill()
        self._popen.kill()
        self._popen.wait()


StartTroupe = Callable[..., Troupe]


@pytest.fixture
def troupe(tmp_path: Path) -> Iterator[StartTroupe]:
    """Start swarms, and end those that the test has left."""
    started: list[Troupe] = []

    def start(*words: str, **environ: str) -> Troupe:
        directory = tmp_path / str(len(started))
        directory.mkdir()
        started.append(Troupe(directory, *words, **environ))
        return started[-1]

    yield start
    for each in started:
        each.reap()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_all_of_it_cleanly(troupe: StartTroupe, number: signal.Signals) -> None:
    swarm = troupe("3", "works")
    pids = swarm.born(3)
    swarm.send(number)
    assert swarm.status() == 0
    assert [swarm.text.count(f"{pid} hears stop\n") for pid in pids] == [1, 1, 1]
    assert not any(map(psutil.pid_exists, pids))


def test_each_child_is_a_group_of_its_own_with_nothing_to_read(troupe: StartTroupe) -> None:
    swarm = troupe("2", "works")
    pids = swarm.born(2)
    assert [os.getpgid(pid) for pid in pids] == pids
    assert [os.readlink(f"/proc/{pid}/fd/0") for pid in pids] == [os.devnull] * 2
    ends = [set(sockets(pid)) for pid in [swarm.pid, *pids]]
    assert not set.intersection(*ends[1:])
    assert [len(each) for each in ends[1:]] == [1, 1], "a child holds its own end of its own wire"
    assert not ends[0] & (ends[1] | ends[2])


def sockets(pid: int) -> list[str]:
    """The sockets that a process holds."""
    folder = Path(f"/proc/{pid}/fd")
    links = [os.readlink(fd) for fd in folder.iterdir()]
    return [link for link in links if link.startswith("socket:")]


def test_a_second_int_is_relayed_and_the_first_is_not(troupe: StartTroupe) -> None:
    swarm = troupe("1", "deaf", DRAIN="1000")
    [pid] = swarm.born(1)
    swarm.send(signal.SIGINT)
    swarm.said(f"{pid} hears stop\n")
    swarm.send(signal.SIGTERM)
    swarm.send(signal.SIGINT)
    swarm.said(f"{pid} hears stop now\n")
    assert swarm.text.count(f"{pid} hears stop\n") == 1
    os.kill(pid, signal.SIGKILL)
    assert swarm.status() == 0


def test_who_does_not_leave_is_killed_once_and_the_exit_status_says_so(troupe: StartTroupe) -> None:
    """W8."""
    swarm = troupe("2", "deaf", DRAIN=str(0.5 - room.MARGIN))
    pids = swarm.born(2)
    swarm.send(signal.SIGTERM)
    assert swarm.status() == 1
    for pid in pids:
        assert swarm.text.count(f"process {pid} of slot") == 1
    assert swarm.text.count("does not leave and is killed") == 2


def test_a_killed_child_is_replaced_and_leaves_no_zombie(troupe: StartTroupe) -> None:
    """B076."""
    swarm = troupe("2", "works")
    swarm.born(2)
    files = psutil.Process(swarm.pid).num_fds()
    os.kill(swarm.born(2)[0], signal.SIGKILL)
    swarm.born(3)
    assert "by signal 9; the next one comes in 0 s" in swarm.text
    states = [child.status() for child in psutil.Process(swarm.pid).children()]
    assert psutil.STATUS_ZOMBIE not in states
    assert len(states) == 2
    assert psutil.Process(swarm.pid).num_fds() == files
    assert psutil.Process(swarm.pid).num_threads() == 1


def test_crashes_in_a_row_wait_longer_and_longer(troupe: StartTroupe) -> None:
    """W4, end to end."""
    swarm = troupe("1", "crashes")
    swarm.said("with exit status 7; the next one comes in 2 s")
    assert re.findall(r"comes in (\d+) s", swarm.text) == ["0", "1", "2"]
    swarm.send(signal.SIGTERM)
    assert swarm.status() == 0


def test_children_of_a_killed_parent_stop_by_themselves(troupe: StartTroupe) -> None:
    swarm = troupe("3", "works")
    pids = swarm.born(3)
    swarm.send(signal.SIGKILL)
    assert swarm.status() == -signal.SIGKILL
    for pid in pids:
        swarm.said(f"{pid} is an orphan\n")
    eventually(lambda: not any(map(psutil.pid_exists, pids)), 10, "all to leave")


def test_quiet_reaches_those_that_are_born_later(troupe: StartTroupe) -> None:
    swarm = troupe("2", "works")
    pids = swarm.born(2)
    swarm.send(signal.SIGTSTP)
    for pid in pids:
        swarm.said(f"{pid} hears quiet\n")
    os.kill(pids[0], signal.SIGKILL)
    later = swarm.born(3)[2]
    assert f"born {later} quiet\n" in swarm.text
    assert f"born {pids[0]} awake\n" in swarm.text


def test_a_slot_that_is_stopped_from_afar_stays_empty_and_the_last_one_ends_it(troupe: StartTroupe) -> None:
    swarm = troupe("2", "works")
    first, second = swarm.born(2)
    # With this signal the troupe plays the stop from afar.
    os.kill(first, signal.SIGUSR2)
    swarm.said("is retired")
    assert [child.pid for child in swarm.children] == [second]
    os.kill(second, signal.SIGUSR2)
    assert swarm.status() == 0
    assert swarm.text.count("born ") == 2


def test_when_all_is_drained_it_ends(troupe: StartTroupe) -> None:
    swarm = troupe("3", "drains")
    assert swarm.status() == 0
    assert swarm.text.count("is drained") == 3


def test_who_cannot_start_ends_all_of_it_with_one_sentence(troupe: StartTroupe) -> None:
    swarm = troupe("3", "refuses")
    assert swarm.status() == 1
    assert swarm.text.count("the password is wrong") == 1


def test_a_restart_replaces_all_at_once(troupe: StartTroupe) -> None:
    swarm = troupe("3", "works")
    old = swarm.born(3)
    swarm.said("born", 3)
    swarm.send(signal.SIGUSR2)
    new = swarm.born(6)[3:]
    assert not set(old) & set(new)
    eventually(lambda: {child.pid for child in swarm.children} == set(new), 10, "the new ones alone")
    assert "unexpectedly" not in swarm.text
    swarm.send(signal.SIGTERM)
    assert swarm.status() == 0


def test_a_phased_restart_always_leaves_somebody_at_work(troupe: StartTroupe) -> None:
    """W10."""
    swarm = troupe("3", "works", "phased")
    old = swarm.born(3)
    swarm.send(signal.SIGUSR2)
    fewest = 3

    def done() -> bool:
        nonlocal fewest
        fewest = min(fewest, len(swarm.children))
        return swarm.text.count("born ") == 6

    eventually(done, 20, "the restart", lambda: swarm.text)
    assert fewest >= 2
    eventually(lambda: not {child.pid for child in swarm.children} & set(old), 10, "the old ones to be gone")
    swarm.send(signal.SIGTERM)
    assert swarm.status() == 0


def test_a_phased_restart_ends_when_the_first_replacement_dies(troupe: StartTroupe) -> None:
    swarm = troupe("3", "works", "phased")
    old = swarm.born(3)
    swarm.stage.write_text("crashes", encoding="utf-8")
    swarm.send(signal.SIGUSR2)
    swarm.said("died before its first beat; the restart ends here, and 2 processes stay as they are")
    assert sum(child.pid in old for child in swarm.children) == 2
    swarm.stage.write_text("works", encoding="utf-8")
    swarm.born(4)
    assert sum(child.pid in old for child in swarm.children) == 2


def test_a_phased_restart_waits_for_the_first_beat(troupe: StartTroupe) -> None:
    swarm = troupe("2", "works", "phased")
    old = swarm.born(2)
    swarm.stage.write_text("mute", encoding="utf-8")
    swarm.send(signal.SIGUSR2)
    swarm.born(3)
    # It must not go on: looked at for a while, in which the others of this file would have gone on ten times.
    with pytest.raises(AssertionError):
        eventually(lambda: swarm.text.count("born ") > 3, 0.5, "a fourth")
    assert sum(child.pid in old for child in swarm.children) == 1


def test_who_is_full_is_replaced_one_at_a_time(troupe: StartTroupe) -> None:
    swarm = troupe("3", "full")
    swarm.born(3)
    swarm.stage.write_text("works", encoding="utf-8")
    fewest = 3

    def done() -> bool:
        nonlocal fewest
        fewest = min(fewest, len(swarm.children))
        return swarm.text.count("is replaced: it has had enough") >= 3 and len(swarm.children) == 3

    eventually(done, 20, "three replacements", lambda: swarm.text)
    assert fewest >= 2
    assert "unexpectedly" not in swarm.text


def test_a_watchdog_hears_nothing_more_when_a_child_never_begins(troupe: StartTroupe, tmp_path: Path) -> None:
    """One that hangs at its birth, in a lock that a thread of the project held at the fork, has never told anything."""
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(10)
        told = {"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "100000"}
        swarm = troupe("1", "hangs", HASTE="60", **told)
        assert manager.recv(100) == b"WATCHDOG=1"
        manager.settimeout(0.5)
        with pytest.raises(TimeoutError):
            while True:
                assert manager.recv(100) == b"WATCHDOG=1"
        swarm.send(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
        for child in swarm.children:
            child.kill()
        assert swarm.status() == 0


def test_without_descriptors_each_try_is_one_line_and_what_is_there_works_on(troupe: StartTroupe) -> None:
    swarm = troupe("6", "works", under="ulimit -n 10")
    swarm.said("the system gives no process", 2)
    born = swarm.born(1)
    seconds = len(set(re.findall(r"T(\S+)\.\d+Z .* the system gives no process", swarm.text)))
    assert swarm.text.count("the system gives no process") <= seconds + 1
    assert len(born) < 6
    swarm.send(signal.SIGTERM)
    assert swarm.status() == 0


def test_nothing_is_left_for_pythons_development_mode_to_warn_of(troupe: StartTroupe) -> None:
    swarm = troupe("2", "works", PYTHONDEVMODE="1")
    swarm.born(2)
    swarm.send(signal.SIGTERM)
    assert swarm.status() == 0
    assert "Warning" not in swarm.text
