"""What `demo --check` proves, one line each, on a stage with real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cogworker_django import (
    DeadSet,
    History,
    PeriodicSet,
    ProcessSet,
    Queue,
    RetrySet,
    ScheduledSet,
    Stats,
    Status,
    WorkSet,
)
from demo.jobs import Closing, Flaky, Greeting, Interrupted, Slow, hopeless, import_row, punctual, tidy_up
from demo.models import Run
from demo.site import Browser, links_in
from demo.stage import Stage

LOOK = 0.02  # seconds between two looks at something that is about to happen
PATIENCE = 20.0  # seconds until it counts as not happening
BULK = 1_000
DELAY = 1.5  # seconds
PUNCTUAL = 1.0  # seconds that a scheduled job may be late
NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Tony")


class NotProved(Exception):
    """Something did not happen as it should; the message says what."""


@dataclass
class Pushed:
    """What was pushed before the workers started."""

    greetings: list[str] = field(default_factory=list)
    low: list[str] = field(default_factory=list)
    flaky: str = ""
    slow: str = ""
    hopeless: str = ""


class Proofs:
    """The proofs, in their order; each returns what its line says.

    Args:
        stage: where they take place; its workers are started here.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._pushed = Pushed()

    def all(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Each proof with its name."""
        yield "pushed", self.pushed
        yield "run", self.run
        yield "retried", self.retried
        yield "died", self.died
        yield "scheduled", self.scheduled
        yield "periodic", self.periodic
        yield "followed", self.followed
        yield "unique", self.unique
        yield "remembered", self.remembered
        yield "pages", self.pages
        yield "bulk", self.bulk
        yield "recovered", self.recovered
        yield "stopped", self.stopped

    def pushed(self) -> str:
        """Jobs lie on their queues before anybody works."""
        pushed = self._pushed
        pushed.greetings = [_accepted(Greeting.perform_async(name)) for name in NAMES]
        pushed.low = [_accepted(tidy_up.perform_async(what)) for what in ("attic", "cellar")]
        pushed.flaky = _accepted(Flaky.perform_async(2))
        pushed.slow = _accepted(Slow.perform_async(0.5))
        pushed.hopeless = _accepted(hopeless.perform_async("no way"))
        sizes = Queue("default").size, Queue("low").size
        _expect(sizes == (8, 2), f"8 and 2 jobs should lie on default and low, not {sizes[0]} and {sizes[1]}")
        return f"{sizes[0]} jobs on default, {sizes[1]} on low"

    def run(self) -> str:
        """Two worker processes run them, also those of the other queue and the slow one."""
        self._stage.start_workers(2)
        jids = [*self._pushed.greetings, *self._pushed.low, self._pushed.slow]
        until(lambda: _finished(jids) == len(jids), "the greetings, the low ones and the slow one should have run")
        until(lambda: ProcessSet().size == 2, "both processes should show")
        notes = set(Run.objects.filter(job="greeting").values_list("note", flat=True))
        _expect(notes == set(NAMES), f"everybody should be greeted, not only {sorted(notes)}")
        return f"{len(jids)} jobs by {ProcessSet().size} processes; the 2 that fail come next"

    def retried(self) -> str:
        """A job that failed twice has succeeded at the third attempt."""
        jid = self._pushed.flaky
        until(lambda: Run.objects.filter(jid=jid).count() == 3, "the flaky job should have run three times")
        until(lambda: RetrySet().size == 0 and Stats().failed >= 3, "nothing should be left to retry")
        _expect(DeadSet().find(jid) is None, "the flaky job should not have died")
        return "failed twice, succeeded at attempt 3"

    def died(self) -> str:
        """A job without retries lies in Dead, with its error."""
        until(lambda: DeadSet().find(self._pushed.hopeless) is not None, "the hopeless job should be in Dead")
        entry = DeadSet().find(self._pushed.hopeless)
        _expect(entry is not None and entry.item["error_message"] == "no way", "its error should lie there with it")
        return "RuntimeError: no way"

    def scheduled(self) -> str:
        """A job with a delay runs when it is due, and not before."""
        due = time.time() + DELAY
        jid = _accepted(punctual.perform_in(DELAY))
        _expect(ScheduledSet().find(jid) is not None, "the job should wait in the schedule")
        until(lambda: Run.objects.filter(jid=jid).exists(), "the scheduled job should have run")
        late = Run.objects.get(jid=jid).at - due
        _expect(-0.1 <= late <= PUNCTUAL, f"it should run within {PUNCTUAL:g} s of being due, not {late:+.2f} s")
        return f"due in {DELAY:g} s, run {late * 1000:.0f} ms after that"

    def periodic(self) -> str:
        """An entry of each minute has run once for its latest minute, and runs when it is told to."""
        until(lambda: PeriodicSet().find("every minute") is not None, "the entry should show")
        entry = PeriodicSet().find("every minute")
        _expect(entry is not None and entry.last_slot is not None, "it should have been fired")
        assert entry is not None
        assert entry.last_slot is not None
        runs = Run.objects.filter(job="every minute")
        until(lambda: runs.exists(), "its job should have run")
        minutes = 1 + (time.time() - entry.last_slot.timestamp()) // 60
        _expect(runs.count() <= minutes + 1, f"two processes should fire each minute once, not {runs.count()} times")
        jid = entry.run_now()
        until(lambda: _finished([jid]) == 1, "it should have run when it was told to")
        return f"fired at {entry.last_slot:%H:%M} UTC, run by hand, next at {entry.next_slot:%H:%M %Z}"

    def followed(self) -> str:
        """A slow job tells how far it is while it runs, and what came out of it."""
        jid = _accepted(Slow.perform_async(1.0))
        _expect(Status.status(jid) in ("queued", "working"), "the slow job should be queued")
        until(lambda: _told(jid).get("pct", 0) >= 50, "half of the slow job should be told")
        message, state = _told(jid)["message"], Status.status(jid)
        _expect(state == "working", f"it should be working meanwhile, not {state}")
        until(lambda: Status.status(jid) == "complete", "the slow job should be complete")
        _expect(_told(jid)["result"] == {"steps": 10}, "its result should be kept")
        return f"working, {message}, complete, result {_told(jid)['result']}"

    def unique(self) -> str:
        """While a unique job waits or runs, another one like it is refused."""
        jid = _accepted(Closing.perform_async("May", 0.5))
        _expect(Closing.perform_async("May", 0.5) is None, "a second one for the same month should be refused")
        other = _accepted(Closing.perform_async("June", 0.0))
        until(lambda: _finished([jid, other]) == 2, "both months should have been closed")
        until(lambda: Status.status(jid) == "complete", "the first closing should be complete")
        again = _accepted(Closing.perform_async("May", 0.0))
        until(lambda: _finished([again]) == 1, "May should have been closed once more")
        return "the second of two refused, accepted again afterwards"

    def remembered(self) -> str:
        """The history tells of each run, the failures by themselves."""
        runs, total = History.page(jid=self._pushed.flaky)
        found = [run["status"] for run in runs]
        _expect((found, total) == (["success", "failed", "failed"], 3), f"the flaky job should show so, not {found}")
        failures, _ = History.page(status="failed", per_page=1)
        _expect(failures[0]["error_message"] == "no way" or bool(failures[0]["backtrace"]), "a failure tells its error")
        [today] = History.daily(days=1)
        return f"{today.success} runs succeeded today, {today.failed} failed"

    def pages(self) -> str:
        """Every tab and every kind of page shows what has happened, and a button works."""
        browser = Browser(self._stage.address)
        browser.log_in()
        process = next(iter(ProcessSet()))["identity"]
        run = next(link for link in links_in(browser.fetch("history/")[1]) if "~" in link and "after" not in link)
        seen = 0
        for path, shown in (
            ("", "Throughput"),
            ("?layout=b", "default"),
            ("queues/low/", "Jobs, the next to run first"),
            ("jobs/", "demo.jobs.hopeless"),
            ("jobs/?state=dead", "no way"),
            (f"jobs/{self._pushed.hopeless}/", "RuntimeError"),
            ("schedules/", "every minute"),
            ("schedules/every%20minute/", "Next times"),
            ("workers/", process),
            (f"workers/{process}/", "Running jobs"),
            ("history/", "demo.jobs.Greeting"),
            (run, "Arguments"),
            ("metrics", "cogworker_processed_total"),
            ("health", "ok"),
        ):
            status, page = browser.fetch(path)
            _expect(
                status == 200 and shown in page.replace("<wbr>", ""),
                f"{path or 'the first page'} should show {shown!r} ({status})",
            )
            seen += 1
        browser.submit("queues/low/", do="pause")
        _expect(Queue("low").paused, "the button should have paused the queue")
        browser.submit("queues/low/", do="resume")
        _expect(not Queue("low").paused, "the button should have resumed the queue")
        return f"{seen} pages of {self._stage.address} fetched, a queue paused and resumed there"

    def bulk(self) -> str:
        """A thousand jobs in one call, each run once."""
        began = time.monotonic()
        jids = import_row.perform_bulk([(number,) for number in range(BULK)])
        pushed = time.monotonic() - began
        _expect(len(set(jids)) == BULK and None not in jids, "each should have a jid of its own")
        runs = Run.objects.filter(job="import")
        until(lambda: runs.count() >= BULK, f"all {BULK} should have run")
        ran = time.monotonic() - began
        numbers = runs.values_list("note", flat=True)
        _expect(len(numbers) == len(set(numbers)) == BULK, "each should have run once")
        return f"{BULK:,} jobs pushed in {pushed:.2f} s, all run after {ran:.2f} s"

    def recovered(self) -> str:
        """The job of a killed process is finished by another one, and the process is replaced."""
        jid = _accepted(Interrupted.perform_async())
        until(lambda: Run.objects.filter(jid=jid).exists(), "the long job should have begun")
        victim = Run.objects.get(jid=jid).pid
        os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()
        until(lambda: Run.objects.filter(jid=jid, note="finished").exists(), "the killed process's job should be back")
        seconds = time.monotonic() - killed
        other = Run.objects.get(jid=jid, note="finished").pid
        _expect(other != victim, "another process should have finished it")
        until(lambda: ProcessSet().size == 2, "another process should have taken the place of the killed one")
        return f"process {victim} killed and replaced, its job finished by {other} after {seconds:.1f} s"

    def stopped(self) -> str:
        """All processes end cleanly; nothing is left anywhere."""
        until(lambda: WorkSet().size == 0, "nothing should run any more")
        code = self._stage.stop_workers()
        _expect(code == 0, f"the swarm should end with exit 0, not {code}")
        _expect(ProcessSet().size == 0, "no process should show any more")
        left = Queue("default").size + Queue("low").size + ScheduledSet().size + RetrySet().size
        _expect(left == 0, f"no job should be left over, not {left}")
        return "exit 0, no process and no job left over"


def until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something to become true.

    Raises:
        NotProved: it did not within the time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NotProved(f"{what} (waited {seconds:g} s)")
        time.sleep(LOOK)


@contextmanager
def told() -> Iterator[None]:
    """Turn whatever goes wrong into a sentence."""
    try:
        yield
    except NotProved:
        raise
    except Exception as error:
        raise NotProved(f"{type(error).__name__}: {error}") from error


def _accepted(jid: str | None) -> str:
    if jid is None:
        raise NotProved("a push was refused")
    return jid


def _told(jid: str) -> dict[str, Any]:
    return Status.get(jid) or {}


def _finished(jids: list[str]) -> int:
    return Run.objects.filter(jid__in=jids).values("jid").distinct().count()


def _expect(condition: bool, what: str) -> None:
    if not condition:
        raise NotProved(what)
