"""Reads the completion logs of all worker processes as they grow (workload/probe.py writes them)."""

import os
from pathlib import Path
from typing import NamedTuple

from tests.bench.workload.probe import RECORD

MOST = 65_536  # records a file and poll


class Record(NamedTuple):
    """One completed job; both times on the monotonic clock, in ns."""

    process: str
    when: int
    number: int
    sent: int


class Reader:
    """Numbers below zero are jobs of the warm-up: they are only counted."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.offsets: dict[str, int] = {}
        self.warm: set[int] = set()
        self.forget()

    def forget(self) -> None:
        """Start again with what comes from now on."""
        self.records: list[Record] = []
        self.numbers: set[int] = set()

    def poll(self) -> None:
        for name in os.listdir(self.directory):
            for number, sent, when in RECORD.iter_unpack(self.fresh(name)):
                if number < 0:
                    self.warm.add(number)
                else:
                    self.records.append(Record(name, when, number, sent))
                    self.numbers.add(number)

    def fresh(self, name: str) -> bytes:
        start = self.offsets.get(name, 0)
        with open(self.directory / name, "rb") as file:
            file.seek(start)
            data = file.read(RECORD.size * MOST)
            used = 0
            for _, _, when in RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]):
                if not when:
                    break
                used += RECORD.size
            # A second read, since the first may have passed the number before it was written.
            file.seek(start)
            data = file.read(used)
        self.offsets[name] = start + used
        return data

    def firsts(self) -> list[int]:
        """The time of the first completion of each process, earliest first."""
        seen: dict[str, int] = {}
        for record in self.records:
            seen[record.process] = min(record.when, seen.get(record.process, record.when))
        return sorted(seen.values())
