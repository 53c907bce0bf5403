"""The parts of one worker process, put together: what starts in which order, and what stops in which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cogworker_django.core.entry import Entry
from cogworker_django.core.identity import new_identity
from cogworker_django.core.version import VERSION
from cogworker_django.features.firing import Firing
from cogworker_django.runtime import Runtime
from cogworker_django.store.jobset_reader import jid_of
from cogworker_django.store.jobsets import SetName
from cogworker_django.worker.cancellations import Cancellations
from cogworker_django.worker.closing import Closing
from cogworker_django.worker.deaths import DeathHooks
from cogworker_django.worker.exchange import Exchange
from cogworker_django.worker.filer import Filer
from cogworker_django.worker.gates import Alarm, WaitingRoom
from cogworker_django.worker.handout import Handout
from cogworker_django.worker.heartbeat import Heartbeat
from cogworker_django.worker.judge import Judge
from cogworker_django.worker.keeper import Keeper
from cogworker_django.worker.listener import BLOCK, Listener
from cogworker_django.worker.outage import Collapser
from cogworker_django.worker.picks import Picks
from cogworker_django.worker.processor import Processor
from cogworker_django.worker.recorder import Recorder
from cogworker_django.worker.reports import Reports
from cogworker_django.worker.rescuer import Rescuer
from cogworker_django.worker.rounds import rounds
from cogworker_django.worker.runner import Runner
from cogworker_django.worker.scheduler import Scheduler
from cogworker_django.worker.stacks import log_stacks
from cogworker_django.worker.ticker import Ticker
from cogworker_django.worker.upkeep import Upkeep
from cogworker_django.worker.work import Work


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a worker process shall be."""

    concurrency: int
    queues: Sequence[tuple[str, int]]
    reliable: bool
    tag: str = ""
    entries: Sequence[Entry] = ()
    """The periodic entries that it fires."""

    @property
    def names(self) -> list[str]:
        """The queues without their weights."""
        return [name for name, _ in self.queues]

    def info(self) -> dict[str, Any]:
        """What the process tells about itself with each beat."""
        return {
            "concurrency": self.concurrency,
            "queues": [list(queue) for queue in self.queues],
            "fetch": "reliable" if self.reliable else "basic",
            "version": VERSION,
            "tag": self.tag,
        }


class Worker:
    """One process's threads and what they share. Nothing starts, and nothing connects, before it is asked to.

    Args:
        runtime: settings, store, registry and middleware.
        plan: what this process shall be.
        before: called on a processor thread before each job.
        after: called after each job.
        on_command: given each remote command.
        swarm: tells about the swarm of this process, for its beats.
        counted: called after each job, where jobs are counted.
    """

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        *,
        before: Callable[[], None],
        after: Callable[[], None],
        on_command: Callable[[str], None],
        swarm: Callable[[], Mapping[str, Any]] = dict,
        counted: Callable[[], None] | None = None,
    ) -> None:
        self.identity = new_identity()
        self.quiet = False
        self._config = runtime.config
        self._store = store = runtime.store
        self._plan = plan
        self._on_command = on_command
        self._swarm = swarm
        self._outages = Collapser()
        self._idle, self._alarm = WaitingRoom(), Alarm()
        self._deaths = DeathHooks(runtime.registry, runtime.death_handlers, runtime.announcer)
        self._scheduler = Scheduler(store.jobsets, store.clock, self._outages, quiet=lambda: self.quiet)
        self._listener = self._make_listener()
        self._reports = Reports(store.statuses, self._alarm)
        self.exchange = self._make_exchange()
        self._handout = Handout(self.exchange, self._idle, self._listener, self._alarm, self._outages)
        self._runner = Runner(runtime.registry, runtime.server_chain, before, after, self.identity, runtime.announcer)
        recorder = Recorder(store.statuses, history=store.history.max_entries > 0, host=self.identity)
        self._cancellations = Cancellations()
        judge = Judge(store.settlements, runtime.registry, self._deaths, recorder, self.identity, self._cancellations)
        numbers = range(1, plan.concurrency + 1)
        parts = (self._handout, self._runner, judge, self._reports, counted)
        self.processors = [Processor(number, *parts) for number in numbers]
        self.work = Work(self.processors)
        self.heartbeat = self._make_heartbeat()
        self.keeper = self._make_keeper()
        self._ticker = self._make_ticker(runtime)
        self._rescuer = self._make_rescuer()
        self._upkeep = self._make_upkeep()
        self._closing = Closing(store, self.identity, self.exchange, self._handout, self._runner)

    def start(self) -> None:
        """Starts all threads; the first beat has been heard."""
        for processor in self.processors:
            processor.start()
        self.keeper.start()
        self._scheduler.start()
        self._ticker.start()
        self._upkeep.start()
        self.heartbeat.start()

    def set_quiet(self, quiet: bool) -> None:
        """Stops fetching and scheduling, or takes both up again. Beats and recovery go on."""
        self.quiet = self.heartbeat.quiet = quiet
        self._handout.set_quiet(quiet)
        self._scheduler.ring()
        self.heartbeat.beat()

    def close(self) -> None:
        """Takes no more work; what runs goes on."""
        self.quiet = True
        self._handout.close()

    @property
    def at_work(self) -> bool:
        """Whether a thread runs a job, or may be about to: after `close` a thread that does not run one goes home, and
        only the one at the bells may take a while.
        """
        idle = sum(processor.thread.is_alive() and processor.delivery is None for processor in self.processors)
        return self.work.busy > 0 or idle > self._listener.busy

    @property
    def running(self) -> bool:
        """Whether a processor thread is still at work."""
        return any(processor.thread.is_alive() for processor in self.processors)

    def cancel(self, jid: str) -> None:
        """Cancels a job that is in this process's hands: one that has not started never will, a coroutine is cancelled,
        and anything else can see it and end by itself.
        """
        running = [job for job in list(self._runner.jobs.values()) if job.jid == jid]
        for job in running:
            job.cancelled = True
        if running:
            self._runner.loop.cancel(jid)
        elif any(jid_of(delivery.raw) == jid for delivery in list(self.exchange.hold.jobs.values())):
            self._cancellations.add(jid)

    def interrupt(self) -> None:
        """Cancels the coroutines that still run: their jobs go back."""
        self._runner.loop.interrupt()

    def finish(self) -> None:
        """Settles what has finished, puts back what has not, and takes the process off."""
        self._scheduler.stop()
        self._ticker.stop()
        self._upkeep.stop()
        everything_back = self._closing.settle_and_put_back()
        self._closing.run_hooks()
        self.keeper.stop()
        self.heartbeat.stop()
        if everything_back:
            self._handout.send_home()
            self._closing.forget()
        self._runner.close()

    def abandon(self) -> None:
        """After `close`: ends what `start` has begun when the system gave no thread for the rest of it."""
        if self._closing.settle_and_put_back():
            self._handout.send_home()
            self._closing.forget()

    def drained(self) -> bool:
        """Whether all of its queues are empty, nothing is due and nothing runs (`--drain`)."""
        before = self.exchange.at_rest()
        if before is None:
            return False
        states = self._store.queue_reader.states(self._plan.names)
        if any(state.size and not state.paused for state in states):
            return False
        if any(self._store.jobsets.due(name, 1)[1] for name in (SetName.SCHEDULE, SetName.RETRY)):
            return False
        # A job that came in since may have pushed another one onto a queue that was empty when it was looked at.
        return self.exchange.at_rest() == before

    def dump(self) -> None:
        """Writes every thread's stack, and what it runs, to the log (TTIN)."""
        log_stacks(self.processors)

    def _make_listener(self) -> Listener:
        return Listener(
            self._store.bells(BLOCK),
            self._store.keys,
            self.identity,
            self._plan.names,
            on_command=self._on_command,
            on_schedule=self._scheduler.ring,
        )

    def _make_exchange(self) -> Exchange:
        return Exchange(
            self._store.trips(self.identity, reliable=self._plan.reliable),
            self._idle,
            self._listener,
            self._alarm,
            self._store.clock,
            Picks(self._plan.queues),
            self._reports,
            self._outages,
            threads=self._plan.concurrency,
            stale_after=self._config.orphan_threshold / 2,
            scheduler=self._scheduler,
        )

    def _make_keeper(self) -> Keeper:
        return Keeper(
            self.exchange,
            self._idle,
            self._listener,
            self._alarm,
            self._outages,
            interval=self._config.fetch_idle_max_interval,
            long_runs=self.work.report_long,
        )

    def _make_heartbeat(self) -> Heartbeat:
        return Heartbeat(
            self._store.processes,
            self._store.clock,
            self.exchange,
            self._listener,
            self.work,
            self.identity,
            self._plan.info(),
            interval=self._config.beat_interval,
            threshold=self._config.orphan_threshold,
            outages=self._outages,
            on_command=self._on_command,
            swarm=self._swarm,
        )

    def _make_upkeep(self) -> Upkeep:
        shown = {entry.name: entry.published() for entry in self._plan.entries}
        filer = Filer(self._store.unsettled, self._deaths, self._handout.add_chore)
        interval = self._config.recovery_interval
        names, suspect = self._plan.names, self.exchange.suspect
        tasks = rounds(self._store, names, shown, self._rescuer, filer, suspect, interval=interval)
        return Upkeep(tasks, self._outages, interval=interval)

    def _make_ticker(self, runtime: Runtime) -> Ticker:
        periodic, clock = self._store.periodic, self._store.clock
        firing = Firing(periodic, runtime.client, runtime.announcer)
        return Ticker(self._plan.entries, periodic, firing, clock, self._outages, quiet=lambda: self.quiet)

    def _make_rescuer(self) -> Rescuer:
        return Rescuer(
            self._store,
            self.identity,
            self._deaths,
            grace=2 * self._config.beat_interval,
            threshold=self._config.orphan_threshold,
            may_judge=lambda: self.heartbeat.may_judge,
            max_orphanings=self._config.max_orphanings,
            hand_over=self._handout.add_chore,
        )
