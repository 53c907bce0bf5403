"""The completion log: what a job calls to say "I ran".

Each worker process owns one memory-mapped file of fixed-size records (number of the job, when it was
enqueued, now). So a job costs under a microsecond here, takes no lock, makes no system call, sends nothing to
Redis. A worker that forks a process per job would make thousands of files: with BENCH_PROBE=append it appends
the record to one shared file instead, in a single atomic write. harness/records.py reads the files from
outside.
"""

import itertools
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable

# The time is the last word written: a record whose time is there is whole.
RECORD = struct.Struct("@qqq")
# The file is sparse: what is not written costs nothing.
CAPACITY = 1 << 21


class Log:
    """The file of this process, opened at its first record, since a pool may fork before."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.reset()

    def reset(self) -> None:
        self.lock = threading.Lock()
        self.view: mmap.mmap | None = None
        self.next: Callable[[], int] = itertools.count().__next__

    def open(self) -> mmap.mmap:
        with self.lock:
            if self.view is None:
                file = os.open(f"{self.directory}/{os.getpid()}", os.O_RDWR | os.O_CREAT)
                os.ftruncate(file, CAPACITY * RECORD.size)
                self.view = mmap.mmap(file, CAPACITY * RECORD.size)
                os.close(file)
            return self.view

    def mark(self, number: int, sent: int) -> None:
        view = self.view or self.open()
        RECORD.pack_into(view, self.next() * RECORD.size, number, sent, time.monotonic_ns())

    def append(self, number: int, sent: int) -> None:
        file = os.open(f"{self.directory}/append", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, RECORD.pack(number, sent, time.monotonic_ns()))
        os.close(file)


_log = Log(os.environ.get("BENCH_PROBE_DIR", ""))
os.register_at_fork(after_in_child=_log.reset)
mark = _log.append if os.environ.get("BENCH_PROBE") == "append" else _log.mark
