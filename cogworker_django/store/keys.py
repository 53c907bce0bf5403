"""The only place where key names are made. The layout follows the reference, section 2, under one prefix."""

from __future__ import annotations

from cogworker_django.core.lanes import lanes


class Keys:
    """Names of all keys under one prefix.

    Args:
        prefix: what stands in front of every key, for example `cogworker:`; with a hash tag (`{cogworker}:`) all
            keys share one slot of a cluster.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.queues = f"{prefix}queues"
        self.paused_queues = f"{prefix}paused_queues"
        self.schedule_bell = f"{prefix}schedule_bell"
        self.schedule = f"{prefix}schedule"
        self.retry = f"{prefix}retry"
        self.dead = f"{prefix}dead"
        self.beats = f"{prefix}beats"
        self.orphaned = f"{prefix}orphaned"
        self.unsettled = f"{prefix}unsettled"
        self.set_aside = f"{prefix}quarantine:unsettled:records"
        self.periodic_entries = f"{prefix}periodic:entries"
        self.periodic_seen = f"{prefix}periodic:seen"
        self.periodic_slots = f"{prefix}periodic:slots"
        self.periodic_disabled = f"{prefix}periodic:disabled"
        self.periodic_reasons = f"{prefix}periodic:reasons"
        self.periodic_runs = f"{prefix}periodic:runs"
        self.processed = f"{prefix}stats:processed"
        self.failed = f"{prefix}stats:failed"
        # Never written: deleting it is a script's harmless first write, after which a full server (maxmemory)
        # lets the same script go on writing.
        self.nothing = f"{prefix}nothing"

    def queue(self, lane: str) -> str:
        """The list of a lane, which is called like the queue for jobs without a priority (`core.lanes`): new jobs on
        the left, the next one to run at the right end.
        """
        return f"{self.prefix}queue:{lane}"

    def lanes(self, queue: str) -> list[str]:
        """All lists of a queue, in the order in which they are fetched."""
        return [self.queue(lane) for lane in lanes(queue)]

    def bell(self, queue: str) -> str:
        """The short list of wake-up tokens that an idle worker blocks on."""
        return f"{self.prefix}bell:{queue}"

    def careful(self, queue: str) -> str:
        """How many recovered jobs of a queue have not been fetched again: they are fetched one per free thread."""
        return f"{self.prefix}careful:{queue}"

    def in_progress(self, identity: str) -> str:
        """The hash of a process's unsettled jobs: delivery token to raw job."""
        return f"{self.prefix}inprogress:{identity}"

    def process(self, identity: str) -> str:
        """What a living process tells about itself; expires when it stops beating."""
        return f"{self.prefix}process:{identity}"

    def work(self, identity: str) -> str:
        """What a process is running, as of its last beat."""
        return f"{self.prefix}work:{identity}"

    def signals(self, identity: str) -> str:
        """The list of commands (quiet, resume, stop) that a process has not read yet."""
        return f"{self.prefix}signals:{identity}"

    def orphanings(self, jid: str) -> str:
        """How often a job was recovered from a dead process."""
        return f"{self.prefix}orphanings:{jid}"

    def unique(self, digest: str) -> str:
        """The lock of a unique job: the id of the job that holds it."""
        return f"{self.prefix}unique:{digest}"

    def attempts(self, jid: str) -> str:
        """The list of a job's failed attempts."""
        return f"{self.prefix}job_attempts:{jid}"

    def once(self, token: str) -> str:
        """Remembers a form that was sent; expires."""
        return f"{self.prefix}web:once:{token}"

    def operation(self, name: str) -> str:
        """The record of an operation over all jobs that match; expires."""
        return f"{self.prefix}web:operation:{name}"

    def operation_lease(self, name: str) -> str:
        """Held by the step that is at an operation; expires."""
        return f"{self.prefix}web:operation_lease:{name}"

    def status(self, jid: str) -> str:
        """Where a job stands; expires."""
        return f"{self.prefix}status:{jid}"

    def history(self, status: str) -> str:
        """The list of the runs that ended so, newest first: `all`, `success` or `failed`."""
        return f"{self.prefix}history:{status}"

    def daily(self, day: str) -> str:
        """The counters of the runs of a UTC day."""
        return f"{self.prefix}history:daily:{day}"

    def throughput(self, hour: int) -> str:
        """The counters of one hour, numbered from the epoch."""
        return f"{self.prefix}throughput:{hour}"
